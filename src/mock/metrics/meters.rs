//! Counters and histograms of the jobs that pass through the server.

use super::histogram::{self, Histogram};
use crate::clock::Timestamp;
use crate::simulator::TokenEvent;

/// Why an answer ended, as vLLM's `finished_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// By itself.
    Stop,
    /// At the request's limit.
    Length,
    /// Its client went away.
    Abort,
}

impl Finish {
    pub(super) const ALL: [Self; 3] = [Self::Stop, Self::Length, Self::Abort];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// The times of one job that the metrics need.
#[derive(Clone, Debug)]
pub(crate) struct JobTimes {
    arrived: Timestamp,
    input_tokens: u32,
    max_tokens: u32,
    scheduled: Option<Timestamp>,
    first: Option<Timestamp>,
    last: Timestamp,
    cached_tokens: u32,
    output_tokens: u32,
    pub(crate) finish: Finish,
}

impl JobTimes {
    pub(crate) fn new(arrived: Timestamp, input_tokens: u32, max_tokens: u32, finish: Finish) -> Self {
        Self {
            arrived,
            input_tokens,
            max_tokens,
            scheduled: None,
            first: None,
            last: arrived,
            cached_tokens: 0,
            output_tokens: 0,
            finish,
        }
    }
}

/// All histograms, and the counters that the server itself does not keep.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    ended: [u64; Finish::ALL.len()],
    pub(super) cached_tokens: u64,
    pub(super) time_to_first_token: Histogram,
    pub(super) inter_token_latency: Histogram,
    pub(super) time_per_output_token: Histogram,
    pub(super) e2e_latency: Histogram,
    pub(super) queue_time: Histogram,
    pub(super) prefill_time: Histogram,
    pub(super) decode_time: Histogram,
    pub(super) inference_time: Histogram,
    pub(super) prompt_tokens: Histogram,
    pub(super) generation_tokens: Histogram,
    pub(super) computed_tokens: Histogram,
    pub(super) max_tokens: Histogram,
    pub(super) choices: Histogram,
    pub(super) iteration_tokens: Histogram,
    iteration: (Timestamp, u64),
}

impl Default for Meters {
    fn default() -> Self {
        use histogram::{CHOICES, GAP, ITERATION, REQUEST, TOKENS, TTFT};
        Self {
            ended: [0; Finish::ALL.len()],
            cached_tokens: 0,
            time_to_first_token: Histogram::new(TTFT),
            inter_token_latency: Histogram::new(GAP),
            time_per_output_token: Histogram::new(GAP),
            e2e_latency: Histogram::new(REQUEST),
            queue_time: Histogram::new(REQUEST),
            prefill_time: Histogram::new(REQUEST),
            decode_time: Histogram::new(REQUEST),
            inference_time: Histogram::new(REQUEST),
            prompt_tokens: Histogram::new(TOKENS),
            generation_tokens: Histogram::new(TOKENS),
            computed_tokens: Histogram::new(TOKENS),
            max_tokens: Histogram::new(TOKENS),
            choices: Histogram::new(CHOICES),
            iteration_tokens: Histogram::new(ITERATION),
            iteration: (Timestamp::ZERO, 0),
        }
    }
}

impl Meters {
    /// A prompt arrived that asks for `n` choices.
    pub(crate) fn arrived(&mut self, n: u32) {
        self.choices.observe(f64::from(n));
    }

    /// Tokens came out. Those of one moment belong to one step, and a prompt counts in the step that ends it.
    pub(crate) fn token(&mut self, passage: &mut JobTimes, event: &TokenEvent) {
        let mut step_tokens = u64::from(event.tokens);
        if let Some(first) = event.first {
            passage.scheduled = Some(first.scheduled);
            passage.cached_tokens = first.cached_tokens;
            passage.first = Some(event.at);
            self.cached_tokens += u64::from(first.cached_tokens);
            self.time_to_first_token.observe(seconds(passage.arrived, event.at));
            step_tokens += u64::from(passage.input_tokens);
        } else {
            self.inter_token_latency.observe(seconds(passage.last, event.at));
        }
        passage.last = event.at;
        passage.output_tokens += event.tokens;
        if self.iteration.0 == event.at {
            self.iteration.1 += step_tokens;
        } else {
            self.end_iteration();
            self.iteration = (event.at, step_tokens);
        }
    }

    fn end_iteration(&mut self) {
        if self.iteration.1 > 0 {
            self.iteration_tokens.observe(self.iteration.1 as f64);
        }
    }

    /// A job ended.
    pub(crate) fn ended(&mut self, passage: &JobTimes, at: Timestamp) {
        if let Some(place) = Finish::ALL.iter().position(|reason| *reason == passage.finish) {
            self.ended[place] += 1;
        }
        self.e2e_latency.observe(seconds(passage.arrived, at));
        self.prompt_tokens.observe(f64::from(passage.input_tokens));
        self.generation_tokens.observe(f64::from(passage.output_tokens));
        self.max_tokens.observe(f64::from(passage.max_tokens));
        let (Some(scheduled), Some(first)) = (passage.scheduled, passage.first) else { return };
        self.queue_time.observe(seconds(passage.arrived, scheduled));
        self.prefill_time.observe(seconds(scheduled, first));
        self.decode_time.observe(seconds(first, passage.last));
        self.inference_time.observe(seconds(scheduled, passage.last));
        self.computed_tokens.observe(f64::from(passage.input_tokens.saturating_sub(passage.cached_tokens)));
        if passage.output_tokens > 1 {
            let gaps = f64::from(passage.output_tokens - 1);
            self.time_per_output_token.observe(seconds(first, passage.last) / gaps);
        }
    }

    /// Answers that ended for this reason.
    pub(crate) fn ended_by(&self, reason: Finish) -> u64 {
        Finish::ALL.iter().position(|other| *other == reason).map_or(0, |place| self.ended[place])
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.since(from).as_secs_f64()
}
