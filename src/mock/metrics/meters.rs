//! Counters and histograms of the jobs that pass through the server.

use strum::{IntoStaticStr, VariantArray};

use super::histogram::{CHOICES, GAP, Histogram, ITERATION, REQUEST, TOKENS, TTFT};
use crate::clock::Timestamp;
use crate::simulator::TokenEvent;

/// Why an answer ended, as vLLM's `finished_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Finish {
    /// By itself.
    Stop,
    /// At the request's limit.
    Length,
    /// Its client went away.
    Abort,
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

/// A histogram of the page, an index of [`HISTOGRAMS`].
#[derive(Clone, Copy)]
enum Series {
    PromptTokens,
    GenerationTokens,
    IterationTokens,
    Choices,
    MaxTokens,
    TimeToFirstToken,
    InterTokenLatency,
    TimePerOutputToken,
    E2eLatency,
    QueueTime,
    InferenceTime,
    PrefillTime,
    DecodeTime,
    ComputedTokens,
}

/// Name, help and bounds of every histogram, in the order of the page and of [`Series`].
pub(super) const HISTOGRAMS: [(&str, &str, &[f64]); 14] = [
    ("request_prompt_tokens", "Number of prefill tokens processed.", TOKENS),
    ("request_generation_tokens", "Number of generation tokens processed.", TOKENS),
    ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", ITERATION),
    ("request_params_n", "Histogram of the n request parameter.", CHOICES),
    ("request_params_max_tokens", "Histogram of the max_tokens request parameter.", TOKENS),
    ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", TTFT),
    ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", GAP),
    ("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", GAP),
    ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", REQUEST),
    ("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", REQUEST),
    ("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", REQUEST),
    ("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", REQUEST),
    ("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", REQUEST),
    (
        "request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        TOKENS,
    ),
];

/// All histograms, and the counters that the server itself does not keep.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    ended: [u64; Finish::VARIANTS.len()],
    pub(super) cached_tokens: u64,
    pub(super) histograms: [Histogram; HISTOGRAMS.len()],
    iteration: (Timestamp, u64),
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            ended: [0; Finish::VARIANTS.len()],
            cached_tokens: 0,
            histograms: HISTOGRAMS.map(|(_, _, bounds)| Histogram::new(bounds)),
            iteration: (Timestamp::ZERO, 0),
        }
    }
}

impl Meters {
    fn observe(&mut self, series: Series, value: f64) {
        self.histograms[series as usize].observe(value);
    }

    /// A prompt arrived that asks for `n` choices.
    pub(crate) fn arrived(&mut self, n: u32) {
        self.observe(Series::Choices, f64::from(n));
    }

    /// Tokens came out. Those of one moment belong to one step, and a prompt counts in the step that ends it.
    pub(crate) fn token(&mut self, times: &mut JobTimes, event: &TokenEvent) {
        let mut step_tokens = u64::from(event.tokens);
        if let Some(first) = event.first {
            times.scheduled = Some(first.scheduled);
            times.cached_tokens = first.cached_tokens;
            times.first = Some(event.at);
            self.cached_tokens += u64::from(first.cached_tokens);
            self.observe(Series::TimeToFirstToken, seconds(times.arrived, event.at));
            step_tokens += u64::from(times.input_tokens);
        } else {
            self.observe(Series::InterTokenLatency, seconds(times.last, event.at));
        }
        times.last = event.at;
        times.output_tokens += event.tokens;
        if self.iteration.0 == event.at {
            self.iteration.1 += step_tokens;
        } else {
            self.end_iteration();
            self.iteration = (event.at, step_tokens);
        }
    }

    fn end_iteration(&mut self) {
        if self.iteration.1 > 0 {
            self.observe(Series::IterationTokens, self.iteration.1 as f64);
        }
    }

    /// A job ended.
    pub(crate) fn ended(&mut self, times: &JobTimes, at: Timestamp) {
        self.ended[times.finish as usize] += 1;
        self.observe(Series::E2eLatency, seconds(times.arrived, at));
        self.observe(Series::PromptTokens, f64::from(times.input_tokens));
        self.observe(Series::GenerationTokens, f64::from(times.output_tokens));
        self.observe(Series::MaxTokens, f64::from(times.max_tokens));
        let (Some(scheduled), Some(first)) = (times.scheduled, times.first) else { return };
        self.observe(Series::QueueTime, seconds(times.arrived, scheduled));
        self.observe(Series::PrefillTime, seconds(scheduled, first));
        self.observe(Series::DecodeTime, seconds(first, times.last));
        self.observe(Series::InferenceTime, seconds(scheduled, times.last));
        self.observe(
            Series::ComputedTokens,
            f64::from(times.input_tokens.saturating_sub(times.cached_tokens)),
        );
        if times.output_tokens > 1 {
            let gaps = f64::from(times.output_tokens - 1);
            self.observe(Series::TimePerOutputToken, seconds(first, times.last) / gaps);
        }
    }

    /// Answers that ended for this reason.
    pub(crate) fn ended_by(&self, reason: Finish) -> u64 {
        self.ended[reason as usize]
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.since(from).as_secs_f64()
}
