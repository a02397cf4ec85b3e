//! How the mock behaves: how long a request waits, when each of its tokens is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::random::Stream;

/// What the mock claims to be.
#[derive(Clone, Debug, PartialEq)]
pub struct MockOptions {
    /// Name of its one model.
    pub model: String,
    /// Requests served at once; more wait in order of arrival.
    pub max_num_seqs: usize,
    /// From the start of service to the first token.
    pub ttft: Delay,
    /// Between two tokens.
    pub itl: Delay,
    /// Longest prompt plus answer, tokens.
    pub max_model_len: u64,
    /// Seed of its delays.
    pub seed: u64,
}

/// About an 8-billion-parameter model in 16-bit weights on one NVIDIA A10G: 16 GB of weights over 600 GB/s of
/// memory bandwidth make 27 ms a token.
impl Default for MockOptions {
    fn default() -> Self {
        Self {
            model: "mock-8b".to_owned(),
            max_num_seqs: 256,
            ttft: Delay { median: Duration::from_millis(80), sigma: 0.45 },
            itl: Delay { median: Duration::from_millis(27), sigma: 0.1 },
            max_model_len: 131_072,
            seed: 0,
        }
    }
}

/// A log-normal delay: its logarithm is normal around ln `median` with standard deviation `sigma`; a `sigma` of
/// zero makes it constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// The median.
    pub median: Duration,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
}

impl Delay {
    fn draw(&self, stream: &mut Stream) -> Duration {
        self.median.mul_f64((self.sigma * stream.normal()).exp())
    }
}

/// The heart of the mock: a first-in-first-out queue before a limited number of places.
#[derive(Debug)]
pub(super) struct Behaviour {
    pub(super) options: MockOptions,
    places: Arc<Semaphore>,
    delays: Stream,
    served: AtomicU64,
}

impl Behaviour {
    pub(super) fn new(options: MockOptions) -> Self {
        Self {
            places: Arc::new(Semaphore::new(options.max_num_seqs)),
            delays: Stream::named(options.seed, "mock/delays"),
            served: AtomicU64::new(0),
            options,
        }
    }

    /// Waits for a place and begins to serve. The place is free again when the service is dropped.
    pub(super) async fn serve(&self) -> Service {
        let delays = self.delays.branch(self.served.fetch_add(1, Relaxed));
        // The semaphore is never closed, so a permit always comes.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (ttft, itl) = (self.options.ttft, self.options.itl);
        Service { _place: place, due: Instant::now(), delays, ttft, itl, generated: 0 }
    }
}

/// One request in service.
#[derive(Debug)]
pub(super) struct Service {
    _place: Option<OwnedSemaphorePermit>,
    due: Instant,
    delays: Stream,
    ttft: Delay,
    itl: Delay,
    generated: u64,
}

impl Service {
    /// Waits until the next token is due. Deadlines are absolute, so that a late one delays no other.
    pub(super) async fn token(&mut self) -> u64 {
        let delay = if self.generated == 0 { self.ttft } else { self.itl };
        self.due += delay.draw(&mut self.delays);
        tokio::time::sleep_until(self.due).await;
        self.generated += 1;
        self.generated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn constant(max_num_seqs: usize) -> Behaviour {
        let delay = |median| Delay { median, sigma: 0.0 };
        Behaviour::new(MockOptions {
            max_num_seqs,
            ttft: delay(ms(50)),
            itl: delay(ms(10)),
            ..MockOptions::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_due_at_absolute_moments() {
        let begin = Instant::now();
        let mut service = constant(1).serve().await;
        for moment in [50, 60, 70] {
            service.token().await;
            assert_eq!(begin.elapsed(), ms(moment));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_first_in_first_out() {
        let behaviour = Arc::new(constant(1));
        let begin = Instant::now();
        let mut waiting = tokio::task::JoinSet::new();
        for number in 0..3u64 {
            let behaviour = Arc::clone(&behaviour);
            waiting.spawn(async move {
                tokio::time::sleep(ms(number)).await;
                behaviour.serve().await.token().await;
                (number, begin.elapsed())
            });
        }
        let mut ends = waiting.join_all().await;
        ends.sort_unstable();
        assert_eq!(ends, [(0, ms(50)), (1, ms(100)), (2, ms(150))]);
    }

    #[tokio::test(start_paused = true)]
    async fn delays_have_the_declared_median() {
        let behaviour = Behaviour::new(MockOptions::default());
        let mut below = 0;
        for _ in 0..2_000 {
            let begin = Instant::now();
            behaviour.serve().await.token().await;
            below += u32::from(begin.elapsed() < ms(80));
        }
        // Half of 2,000 with a standard deviation of 22.4.
        assert!((910..=1090).contains(&below), "{below}");
    }
}
