//! Counters and histograms of the jobs that pass through the server, with vLLM's bucket bounds.

use strum::{IntoStaticStr, VariantArray};

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
    /// Answers by the reason for which they ended.
    pub(crate) ended: [u64; Finish::VARIANTS.len()],
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
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.since(from).as_secs_f64()
}

/// Upper bounds of the buckets of token counts (`build_1_2_5_buckets` of a context of 2,000 to 4,999 tokens).
const TOKENS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0];
/// Tokens per step.
const ITERATION: &[f64] =
    &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0];
/// Choices per request.
const CHOICES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];
/// Time to the first token, seconds.
const TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
/// Time between tokens, seconds.
const GAP: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Time of a request or of one of its phases, seconds.
const REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];

/// Counts of values by size, with their sum.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// Values of each bucket alone; the last one holds those beyond all bounds.
    counts: Vec<u64>,
    pub(super) sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += 1;
        self.sum += value;
    }

    /// (upper bound, values up to it) of every bucket; the last bound is infinite.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((bound, *total))
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let mut histogram = Histogram::new(CHOICES);
        for value in [1.0, 1.5, 2.0, 20.0, 21.0] {
            histogram.observe(value);
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        let expected = [(1.0, 1), (2.0, 3), (5.0, 3), (10.0, 3), (20.0, 4), (f64::INFINITY, 5)];
        assert_eq!(cumulative, expected);
        assert_eq!((histogram.count(), histogram.sum), (5, 45.5));
    }
}
