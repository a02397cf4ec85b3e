//! Counters and histograms of the jobs that pass through the server, with vLLM's bucket bounds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use strum::{IntoStaticStr, VariantArray};

use crate::clock::Timestamp;
use crate::simulator::TokenEvent;

/// Reason why an answer ended, as vLLM's `finished_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Finish {
    /// Answer that ended by itself.
    Stop,
    /// Answer that ended at the request's limit.
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
    /// Whether its tokens are text.
    pub(crate) has_text: bool,
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
            has_text: true,
            finish,
        }
    }
}

/// The series of the page, and the buckets of histograms.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageTable {
    bounds: BTreeMap<String, Vec<f64>>,
    pub(super) series: Vec<PageSeries>,
}

/// A series of the page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageSeries {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) help: String,
    /// The label that makes it several.
    #[serde(default)]
    pub(super) label: String,
    /// Values of the label, each with the name of ours.
    #[serde(default)]
    pub(super) values: Vec<[String; 2]>,
    /// The buckets of a histogram.
    pub(super) bounds: Option<String>,
    /// Whether only a server that has drafted has it.
    #[serde(default)]
    pub(super) of_drafts: bool,
}

/// The embedded table, which a test reads.
pub(super) static TABLE: LazyLock<PageTable> =
    LazyLock::new(|| toml::from_str(include_str!("series.toml")).unwrap_or_default());

/// A histogram of the page, in the order of the table.
#[derive(Clone, Copy, VariantArray)]
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

/// All histograms, and the counters that the server itself does not keep.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    /// Answers by the reason for which they ended.
    pub(crate) ended: [u64; Finish::VARIANTS.len()],
    pub(super) cached_tokens: u64,
    /// Tokens of the engine that were no text.
    pub(super) unsaid_tokens: u64,
    pub(super) histograms: Vec<Histogram>,
    iteration: (Timestamp, u64),
}

impl Default for Meters {
    fn default() -> Self {
        let bounds = TABLE.series.iter().filter_map(|series| TABLE.bounds.get(series.bounds.as_ref()?));
        Self {
            ended: [0; Finish::VARIANTS.len()],
            cached_tokens: 0,
            unsaid_tokens: 0,
            histograms: bounds.map(|bounds| Histogram::new(bounds)).collect(),
            iteration: (Timestamp::ZERO, 0),
        }
    }
}

impl Meters {
    fn observe(&mut self, series: Series, value: f64) {
        if let Some(histogram) = self.histograms.get_mut(series as usize) {
            histogram.observe(value);
        }
    }

    /// A prompt arrived that asks for `n` choices.
    pub(crate) fn arrived(&mut self, n: u32) {
        self.observe(Series::Choices, f64::from(n));
    }

    /// Tokens came out. Those of one moment belong to one step, and a prompt counts in the step that ends it.
    pub(crate) fn token(&mut self, times: &mut JobTimes, event: &TokenEvent) {
        let said = if times.has_text { event.tokens } else { 0 };
        self.unsaid_tokens += u64::from(event.tokens - said);
        let mut step_tokens = u64::from(said);
        if let Some(first) = event.first {
            times.scheduled = Some(first.scheduled);
            times.cached_tokens = first.cached_tokens;
            times.first = Some(event.at);
            self.cached_tokens += u64::from(first.cached_tokens);
            if times.has_text {
                self.observe(Series::TimeToFirstToken, seconds(times.arrived, event.at));
            }
            step_tokens += u64::from(times.input_tokens);
        } else {
            self.observe(Series::InterTokenLatency, seconds(times.last, event.at));
        }
        times.last = event.at;
        times.output_tokens += said;
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
        if times.has_text {
            self.observe(Series::GenerationTokens, f64::from(times.output_tokens));
            self.observe(Series::MaxTokens, f64::from(times.max_tokens));
        }
        let (Some(scheduled), Some(first)) = (times.scheduled, times.first) else { return };
        self.observe(Series::QueueTime, seconds(times.arrived, scheduled));
        self.observe(Series::PrefillTime, seconds(scheduled, first));
        if times.has_text {
            self.observe(Series::DecodeTime, seconds(first, times.last));
        }
        self.observe(Series::InferenceTime, seconds(scheduled, times.last));
        self.observe(Series::ComputedTokens, f64::from(times.input_tokens.saturating_sub(times.cached_tokens)));
        if times.output_tokens > 1 {
            let gaps = f64::from(times.output_tokens - 1);
            self.observe(Series::TimePerOutputToken, seconds(first, times.last) / gaps);
        }
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.since(from).as_secs_f64()
}

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
    fn every_histogram_has_its_series() {
        let table: PageTable = toml::from_str(include_str!("series.toml")).unwrap();
        let named: Vec<_> = table.series.iter().filter(|series| series.kind == "histogram").collect();
        assert!(named.iter().all(|series| series.bounds.as_ref().is_some_and(|name| table.bounds.contains_key(name))));
        assert_eq!((named.len(), Meters::default().histograms.len()), (Series::VARIANTS.len(), named.len()));
        assert_eq!(named[Series::E2eLatency as usize].name, "e2e_request_latency_seconds");
        assert_eq!(named[Series::ComputedTokens as usize].name, "request_prefill_kv_computed_tokens");
    }

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let mut histogram = Histogram::new(&[1.0, 2.0, 5.0, 10.0, 20.0]);
        for value in [1.0, 1.5, 2.0, 20.0, 21.0] {
            histogram.observe(value);
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        let expected = [(1.0, 1), (2.0, 3), (5.0, 3), (10.0, 3), (20.0, 4), (f64::INFINITY, 5)];
        assert_eq!(cumulative, expected);
        assert_eq!((histogram.count(), histogram.sum), (5, 45.5));
    }
}
