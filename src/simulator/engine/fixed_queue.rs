//! A plain server: a fixed number of slots, first come, first served, latencies drawn from distributions.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::simulator::job::{Job, JobId};
use crate::simulator::server::{FirstToken, Reject, ServerGauges, SimulatedServer, TokenEvent};

/// A server with known behaviour and no physics. A job waits for a slot and holds it until its last token; its first
/// token comes after a drawn TTFT, each later one after a drawn gap.
///
/// With answers of one token it is a textbook queue whose service time is the TTFT: exponential gives M/M/c for
/// Poisson arrivals, constant M/D/c.
#[derive(Clone, Debug)]
pub struct FixedQueue {
    free_slots: usize,
    ttft: Delay,
    gap: Delay,
    ttfts: RandomStream,
    gaps: RandomStream,
    waiting: VecDeque<Job>,
    running: BinaryHeap<Reverse<Running>>,
    woken: Timestamp,
    counts: ServerGauges,
}

/// A job in a slot. The heap's top is the one with the earliest next token, then the one started first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    next_token: Timestamp,
    scheduled: Timestamp,
    id: JobId,
    input_tokens: u32,
    left: u32,
    first: bool,
}

impl FixedQueue {
    /// Makes a server with `slots` slots (at least one). It draws from its own streams of `seed`.
    pub fn new(slots: usize, ttft: Delay, gap: Delay, seed: u64) -> Self {
        Self {
            free_slots: slots.max(1),
            ttft,
            gap,
            ttfts: RandomStream::named(seed, "simulator ttft"),
            gaps: RandomStream::named(seed, "simulator gap"),
            waiting: VecDeque::new(),
            running: BinaryHeap::new(),
            woken: Timestamp::ZERO,
            counts: ServerGauges::default(),
        }
    }

    /// Gives the free slots to waiting jobs.
    fn start_waiting(&mut self, at: Timestamp) {
        while self.free_slots > 0
            && let Some(job) = self.waiting.pop_front()
        {
            self.free_slots -= 1;
            self.running.push(Reverse(Running {
                next_token: at.after(self.ttft.draw(&mut self.ttfts)),
                scheduled: at,
                id: job.id,
                input_tokens: job.input_tokens,
                left: job.output_tokens,
                first: true,
            }));
        }
    }
}

impl SimulatedServer for FixedQueue {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        if job.input_tokens == 0 || job.output_tokens == 0 {
            return Err(Reject::Empty);
        }
        self.woken = now;
        self.waiting.push_back(job);
        Ok(())
    }

    fn cancel(&mut self, now: Timestamp, id: JobId) -> bool {
        let before = (self.waiting.len(), self.running.len());
        self.waiting.retain(|job| job.id != id);
        self.running.retain(|running| running.0.id != id);
        let place_freed = before.1 > self.running.len();
        if place_freed {
            self.free_slots += 1;
            self.woken = now;
        }
        place_freed || before.0 > self.waiting.len()
    }

    fn next_event(&self) -> Option<Timestamp> {
        if self.free_slots > 0 && !self.waiting.is_empty() {
            return Some(self.woken);
        }
        self.running.peek().map(|running| running.0.next_token)
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        // Jobs that a change at `woken` lets start do so then, even when the driver is late.
        self.start_waiting(self.woken);
        while self.running.peek().is_some_and(|next| next.0.next_token <= now)
            && let Some(Reverse(mut job)) = self.running.pop()
        {
            let at = job.next_token;
            let first = job.first.then_some(FirstToken { scheduled: job.scheduled, cached_tokens: 0 });
            job.left -= 1;
            let finished = job.left == 0;
            events.push(TokenEvent { job: job.id, at, tokens: 1, first, finished });
            self.counts.generation_tokens += 1;
            self.counts.request_success += u64::from(finished);
            if job.first {
                self.counts.prompt_tokens += u64::from(job.input_tokens);
            }
            if finished {
                self.free_slots += 1;
                self.start_waiting(at);
            } else {
                job.first = false;
                job.next_token = at.after(self.gap.draw(&mut self.gaps));
                self.running.push(Reverse(job));
            }
        }
    }

    fn gauges(&self) -> ServerGauges {
        ServerGauges {
            num_requests_running: self.running.len() as u64,
            num_requests_waiting: self.waiting.len() as u64,
            ..self.counts
        }
    }

    fn jobs(&self) -> u64 {
        (self.running.len() + self.waiting.len()) as u64
    }
}

/// A distribution of delays. Draws below zero become zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// A constant, seconds.
    Constant(f64),
    /// Exponential with this mean, seconds.
    Exponential(f64),
    /// Uniform between two lengths, seconds.
    Uniform(f64, f64),
    /// Normal with this mean and standard deviation, seconds.
    Normal(f64, f64),
    /// Log-normal: its median, seconds, and the standard deviation of its logarithm.
    LogNormal(f64, f64),
    /// Gamma with this mean, seconds, and shape. A shape of 1 is exponential; its coefficient of variation is 1/√shape.
    Gamma(f64, f64),
}

impl Delay {
    /// Draws one delay.
    pub fn draw(&self, stream: &mut RandomStream) -> Duration {
        let seconds = match *self {
            Self::Constant(value) => value,
            Self::Exponential(mean) => mean * stream.exponential(),
            Self::Uniform(low, high) => low + (high - low) * stream.unit(),
            Self::Normal(mean, std) => mean + std * stream.normal(),
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * stream.normal()),
            Self::Gamma(mean, shape) => mean / shape * stream.gamma(shape),
        };
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// Delay in command-line notation: `80ms`, `log-normal:80ms:0.45`, …
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Microseconds, so that no binary fraction shows.
        let ms = |seconds: f64| (seconds * 1e6).round() / 1e3;
        match *self {
            Self::Constant(value) => write!(f, "{}ms", ms(value)),
            Self::Exponential(mean) => write!(f, "exponential:{}ms", ms(mean)),
            Self::Uniform(low, high) => write!(f, "uniform:{}ms:{}ms", ms(low), ms(high)),
            Self::Normal(mean, std) => write!(f, "normal:{}ms:{}ms", ms(mean), ms(std)),
            Self::LogNormal(median, sigma) => write!(f, "log-normal:{}ms:{sigma}", ms(median)),
            Self::Gamma(mean, shape) => write!(f, "gamma:{}ms:{shape}", ms(mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_serves_in_order_with_exact_times() {
        let mut server = FixedQueue::new(1, Delay::Constant(0.1), Delay::Constant(0.02), 0);
        for id in 0..2 {
            server.submit(Timestamp::ZERO, Job::new(JobId(id), 5, 3)).unwrap();
        }
        let mut events = Vec::new();
        while let Some(at) = server.next_event() {
            server.advance(at, &mut events);
        }
        let seen: Vec<_> = events.iter().map(|e| (e.job.0, e.at.as_nanos() / 1_000_000, e.finished)).collect();
        let expected =
            [(0, 100, false), (0, 120, false), (0, 140, true), (1, 240, false), (1, 260, false), (1, 280, true)];
        assert_eq!(seen, expected);
        assert_eq!(events[3].first.unwrap().scheduled, Timestamp::from_nanos(140_000_000));
        assert_eq!(server.gauges().generation_tokens, 6);
    }

    #[test]
    fn cancelling_frees_the_place() {
        let mut server = FixedQueue::new(1, Delay::Constant(0.1), Delay::Constant(0.02), 0);
        let mut events = Vec::new();
        for id in 0..3 {
            server.submit(Timestamp::ZERO, Job::new(JobId(id), 5, 1)).unwrap();
        }
        server.advance(Timestamp::ZERO, &mut events);
        let at = Timestamp::from_nanos(30_000_000);
        assert!(server.cancel(at, JobId(0)) && server.cancel(at, JobId(1)) && !server.cancel(at, JobId(1)));
        assert_eq!(server.next_event(), Some(at));
        server.advance(at, &mut events);
        assert_eq!(server.next_event(), Some(Timestamp::from_nanos(130_000_000)));
    }

    #[test]
    fn a_place_freed_by_a_cancellation_is_taken_then_also_by_a_late_driver() {
        let mut server = FixedQueue::new(2, Delay::Constant(0.1), Delay::Constant(0.02), 0);
        let mut events = Vec::new();
        for id in 0..3 {
            server.submit(Timestamp::ZERO, Job::new(JobId(id), 5, 1)).unwrap();
        }
        server.advance(Timestamp::ZERO, &mut events);
        server.cancel(Timestamp::from_nanos(30_000_000), JobId(0));
        // It wakes at 150 ms. By then, at 100 ms, another slot was free.
        server.advance(Timestamp::from_nanos(150_000_000), &mut events);
        assert_eq!(server.next_event(), None);
        let ends: Vec<_> = events.iter().map(|event| event.at.as_nanos() / 1_000_000).collect();
        assert_eq!(ends, [100, 130]);
    }

    #[test]
    fn means_and_spreads_are_those_asked_for() {
        // (delay, mean, standard deviation) by their textbook formulas.
        let log_normal_mean = 0.2 * (0.25_f64 / 2.0).exp();
        for (delay, mean, std) in [
            (Delay::Constant(0.3), 0.3, 0.0),
            (Delay::Exponential(0.3), 0.3, 0.3),
            (Delay::Uniform(0.1, 0.3), 0.2, 0.2 / 12_f64.sqrt()),
            (Delay::Normal(0.5, 0.05), 0.5, 0.05),
            (Delay::LogNormal(0.2, 0.5), log_normal_mean, log_normal_mean * (0.25_f64.exp() - 1.0).sqrt()),
            (Delay::Gamma(0.4, 4.0), 0.4, 0.2),
        ] {
            let mut stream = RandomStream::named(1, "delay test");
            let draws: Vec<f64> = (0..40_000).map(|_| delay.draw(&mut stream).as_secs_f64()).collect();
            let n = draws.len() as f64;
            let found = draws.iter().sum::<f64>() / n;
            let spread = (draws.iter().map(|draw| (draw - found).powi(2)).sum::<f64>() / n).sqrt();
            assert!((found - mean).abs() < 0.02 * mean, "{delay:?}: mean {found}, not {mean}");
            assert!((spread - std).abs() < 0.03 * mean, "{delay:?}: spread {spread}, not {std}");
        }
    }

    #[test]
    fn no_draw_is_below_zero() {
        let mut stream = RandomStream::named(1, "delay test");
        assert!((0..1000).any(|_| Delay::Normal(0.1, 1.0).draw(&mut stream).is_zero()));
    }
}
