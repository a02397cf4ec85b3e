//! What is known of how a result was measured, whichever tool measured it.

use serde::Serialize;

use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::{ChecklistRule, VerdictOutcome};
use crate::analysis::requests::LoadForm;
use crate::units::{counted, three_digits};
use crate::workload::{InputBatch, LengthCounts, LengthSpread};

/// Facts that are known of a result. Absent fields are not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Source of the result: what answered, and who measured it.
    pub source: ResultSource,
    /// The verdict; absent where the tool has none.
    pub outcome: Option<VerdictOutcome>,
    /// The gravest reason of the verdict.
    pub reason: Option<String>,
    /// Tokens of the prompts.
    pub prompt_tokens: Option<LengthRange>,
    /// Tokens of the answers.
    pub answer_tokens: Option<LengthRange>,
    /// Whether answers were streamed.
    pub streamed: Option<bool>,
    /// Inputs of each request, where answers have no tokens.
    pub inputs: Option<InputBatch>,
    /// When requests arrived.
    pub arrivals: Option<ArrivalEvidence>,
    /// Form of the load: what makes a request wait for an answer before it.
    pub load: Option<LoadForm>,
    /// The most requests in flight, where the wait for a slot counts in no latency.
    pub uncounted_cap: Option<u64>,
    /// Requests and seconds before the window.
    pub warm_up: Option<WarmUpEvidence>,
    /// Length of the window, or of the whole run of a tool without one, seconds.
    pub window_s: Option<f64>,
    /// Length of a window with samples enough for p99 at the same rate, seconds. Absent unless a longer window has
    /// more.
    pub window_for_p99_s: Option<f64>,
    /// Requests that were sent.
    pub sent: Option<u64>,
    /// Requests that failed.
    pub failed: Option<u64>,
    /// Classes, tenants and models that share the server, whichever are most.
    pub traffics: Option<u64>,
    /// Content of the prefix cache, in words.
    pub prefix_cache: Option<String>,
    /// Answers that were judged, and those that passed. Both are 0 where it is known that none was judged.
    pub judged_answers: Option<(u64, u64)>,
    /// Runs of the same load.
    pub runs: u64,
    /// Runs whose means the figures are; 0 where they are those of one.
    pub joined_runs: u64,
    /// Loads that were measured.
    pub loads: u64,
    /// The highest load within the objectives, in a sentence; absent where none was searched for.
    pub capacity: Option<String>,
    /// Latencies.
    pub latencies: Vec<LatencyEvidence>,
    /// Answer tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// The model.
    pub model: Option<String>,
    /// The engine, with its version where that is known.
    pub engine: Option<String>,
    /// The accelerator.
    pub hardware: Option<String>,
    /// How many; absent also where `hardware` says it.
    pub gpus: Option<u64>,
    /// Whether `hardware` says how many.
    pub counts_gpus: CountsGpus,
    /// Further facts of the server by name. `None` are those that are not known.
    pub serving: Vec<(&'static str, Option<String>)>,
    /// Errors of the tool's method, where the file shows that it applies.
    pub method: Vec<String>,
    /// Cures of the tool's own, in place of Skyline's options.
    pub cures: Vec<(ChecklistRule, &'static str)>,
}

/// Source of a result: what answered, and who measured it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResultSource {
    /// Skyline, against a server.
    #[default]
    Server,
    /// Skyline, against its own mock.
    Mock,
    /// Skyline, in virtual time.
    Simulation,
    /// Skyline, to see whether answers come at all.
    Smoke,
    /// Another tool, of this name.
    Other(String),
}

impl ResultSource {
    /// Whether a server was measured, if only a mock.
    pub(super) const fn is_measurement(&self) -> bool {
        matches!(self, Self::Server | Self::Mock | Self::Other(_))
    }
}

/// Whether the name of the hardware says how many accelerators there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountsGpus {
    /// Name that says the number, as an exporter's does: `2 × NVIDIA H100`.
    InName,
    /// Name that does not say the number.
    #[default]
    Apart,
}

/// How requests arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalEvidence {
    /// How alike they are to those of users.
    pub shape: ArrivalShape,
    /// Words for the arrivals, with the rate: `poisson, 10.0 requests/s`.
    pub words: String,
    /// Why they are not what the words say; absent where they are.
    pub fault: Option<&'static str>,
}

/// How alike arrivals are to those of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalShape {
    /// Arrivals at random, or as in a trace.
    LikeTraffic,
    /// Arrivals that come evenly.
    Even,
    /// Arrivals that come all at once.
    AtOnce,
    /// Arrivals that come when answers end.
    Closed,
}

impl ArrivalShape {
    /// Shape above which gamma gaps vary by less than half of their mean: nearly even.
    const NEARLY_EVEN: f64 = 4.0;

    /// Pattern of gaps of a gamma distribution of this shape, where 1 is Poisson.
    pub fn of_gamma(shape: f64) -> Self {
        if shape > Self::NEARLY_EVEN { Self::Even } else { Self::LikeTraffic }
    }
}

/// Warm-up before the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WarmUpEvidence {
    /// Requests.
    pub requests: u64,
    /// Seconds; absent where only requests are known.
    pub seconds: Option<f64>,
}

/// How far lengths are apart, tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthRange {
    /// The shortest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// 95 in 100 are at most this long.
    pub p95: f64,
    /// The longest.
    pub max: f64,
}

impl LengthRange {
    /// The spread of these lengths; `None` where there are none.
    pub fn from_lengths(lengths: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut counts = LengthCounts::new();
        lengths.into_iter().for_each(|tokens| counts.add(tokens));
        counts.spread().map(Self::from)
    }

    /// Whether all are of one length.
    pub(super) fn is_fixed(&self) -> bool {
        self.max <= self.min
    }

    /// How far the longer ones are from the middle: p95 ÷ p50.
    pub(super) fn ratio(&self) -> f64 {
        if self.p50 > 0.0 { self.p95 / self.p50 } else { f64::INFINITY }
    }

    /// `100 tokens each`, `16 to 710 tokens (p50 256, p95 467)`.
    pub(super) fn in_words(&self) -> String {
        let [min, p50, p95, max] = [self.min, self.p50, self.p95, self.max].map(f64::round);
        if self.is_fixed() {
            return format!("{} each", counted(max as u64, "token"));
        }
        let [p50, p95] = [p50, p95].map(|tokens| crate::units::count(tokens as u64));
        format!("{} to {} (p50 {p50}, p95 {p95})", crate::units::count(min as u64), counted(max as u64, "token"))
    }
}

impl From<LengthSpread> for LengthRange {
    fn from(spread: LengthSpread) -> Self {
        let LengthSpread { min, p50, p95, max, .. } = spread;
        Self { min: min as f64, p50, p95, max: max as f64 }
    }
}

/// A latency with its percentiles, milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyEvidence {
    /// The latency.
    pub metric: Metric,
    /// Samples.
    pub n: Option<u64>,
    /// Number of independent samples that they are worth, where that is known.
    pub worth: Option<u64>,
    /// Percentiles of the latency that are known.
    pub percentiles: Vec<PercentileEvidence>,
}

/// A percentile, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PercentileEvidence {
    /// Quantile of the percentile.
    pub quantile: Quantile,
    /// Value of the percentile.
    pub value_ms: f64,
    /// The ends of its 95 % interval.
    pub interval: (Option<f64>, Option<f64>),
}

impl LatencyEvidence {
    /// Returns one of the percentiles.
    pub(super) fn percentile(&self, quantile: Quantile) -> Option<&PercentileEvidence> {
        self.percentiles.iter().find(|percentile| percentile.quantile == quantile)
    }
}

impl Evidence {
    /// The first of these latencies that is known.
    pub(super) fn latency(&self, metrics: &[Metric]) -> Option<&LatencyEvidence> {
        metrics.iter().find_map(|metric| self.latencies.iter().find(|latency| latency.metric == *metric))
    }

    /// Returns the latency by which a result is claimed. That is the one of the first token, else of the whole answer.
    pub(super) fn main_latency(&self) -> Option<&LatencyEvidence> {
        self.latency(&[Metric::Ttft, Metric::TtftFromSend, Metric::E2e, Metric::E2eFromSend])
    }

    /// Returns the samples of the main latency, and how many independent ones they are worth. Where their number is not
    /// known, it is that of the requests that were answered. All count as independent unless fewer are known to be.
    pub(super) fn samples(&self) -> Option<(u64, u64)> {
        let answered = || Some(self.sent?.saturating_sub(self.failed?));
        let latency = self.main_latency();
        let n = latency.and_then(|latency| latency.n).or_else(answered)?;
        Some((n, latency.and_then(|latency| latency.worth).map_or(n, |worth| worth.min(n))))
    }

    /// Failed requests ÷ sent requests.
    pub(super) fn error_rate(&self) -> Option<f64> {
        let (failed, sent) = (self.failed?, self.sent?);
        (sent > 0).then(|| failed as f64 / sent as f64)
    }

    /// The accelerators in words: `2 × h100`.
    pub(super) fn hardware_in_words(&self) -> Option<String> {
        let hardware = self.hardware.as_ref()?;
        Some(match self.gpus {
            Some(gpus) if self.counts_gpus == CountsGpus::Apart => format!("{gpus} × {hardware}"),
            _ => hardware.clone(),
        })
    }

    /// Lists the facts of the server that are not reported, apart from the hardware.
    pub(super) fn unreported(&self) -> impl Iterator<Item = &'static str> {
        self.serving.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name)
    }
}

/// A rate in words: `10.0 requests/s`.
pub(crate) fn requests_per_s(rate: f64) -> String {
    format!("{} requests/s", three_digits(rate))
}
