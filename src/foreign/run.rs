//! A run from another tool's file.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::figures::{ForeignAnswer, ForeignLatency, ReportedFigures};
use super::tool::ForeignTool;
use crate::analysis::{Figure, FigureKey, LengthRange, Metric, SampleWarning, WarmUpEvidence};

/// A run of another tool, its figures under our names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignRun {
    /// The tool that made it.
    pub tool: ForeignTool,
    /// The tool's version, if its file has it.
    pub tool_version: Option<String>,
    /// Number of the run in the file, from 1.
    pub number: u64,
    /// Conditions of the test, as far as the file has them.
    pub conditions: ForeignConditions,
    /// Ends of its requests.
    pub requests: ForeignRequests,
    /// Tokens of completed requests.
    pub tokens: ForeignTokens,
    /// Totals over the whole run.
    pub whole_run: WholeRunRates,
    /// Latencies, of completed requests only.
    pub latency: Vec<ForeignLatency>,
    /// Caveats about these figures.
    pub reservations: Vec<String>,
    /// Figures of the tool without an equivalent here.
    pub refused: Vec<UnmatchedFigure>,
    /// Completed requests, where all are in the file.
    #[serde(skip)]
    pub(crate) answers: Vec<ForeignAnswer>,
    /// Whether a run of Skyline was written in the tool's form.
    #[serde(skip)]
    pub(super) is_export: bool,
    /// Latencies as the tool itself reports them, by its names.
    #[serde(skip)]
    pub(super) own: BTreeMap<&'static str, ReportedFigures>,
}

/// The test conditions of a run; absent where its file does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForeignConditions {
    /// The model requested.
    pub model: Option<String>,
    /// `chat`, `completions`, or another endpoint.
    pub endpoint: Option<String>,
    /// Whether answers were streamed.
    pub streamed: Option<bool>,
    /// Arrivals: `poisson`, `constant`, `gamma`, `all_at_once`, `closed`, `ramp_up`, or the tool's own word.
    pub arrival: Option<String>,
    /// Shape of gamma gaps, where 1 is Poisson; only for `gamma` arrivals.
    pub burstiness: Option<f64>,
    /// Requested requests per second.
    pub rate_per_s: Option<f64>,
    /// Most requests in flight.
    pub max_concurrency: Option<ConcurrencyCap>,
    /// Tokens of the prompts of completed requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<LengthRange>,
    /// Tokens of their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_tokens: Option<LengthRange>,
    /// Requests before the measured ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpEvidence>,
    /// The accelerator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// Number of GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u64>,
    /// The version of the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// The number format of the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Flags that the server was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving_flags: Option<String>,
    /// Datasets or generators that prompts come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasets: Option<u64>,
    /// Processes that send, each with arrivals of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
}

/// Whether the tool limited the requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrencyCap {
    /// No limit.
    Uncapped,
    /// Most requests in flight.
    At(u64),
}

impl std::str::FromStr for ConcurrencyCap {
    type Err = std::num::ParseIntError;

    /// `none`, or a number.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" { Ok(Self::Uncapped) } else { text.parse().map(Self::At) }
    }
}

impl std::fmt::Display for ConcurrencyCap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncapped => f.pad("none"),
            Self::At(most) => write!(f, "{most}"),
        }
    }
}

impl Serialize for ConcurrencyCap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Uncapped => serializer.serialize_str("none"),
            Self::At(most) => serializer.serialize_u64(*most),
        }
    }
}

/// Ends of the requests of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignRequests {
    /// Completed requests, by the tool's count.
    pub completed: u64,
    /// Failed requests; absent where the file does not say.
    pub failed: Option<u64>,
    /// Requests that the tool cut off at its end; absent where it does not say.
    pub cut_off: Option<u64>,
}

impl ForeignRequests {
    /// Failed requests ÷ sent requests.
    pub fn error_rate(&self) -> Option<f64> {
        let failed = self.failed?;
        let sent = self.sent()?;
        (sent > 0).then(|| failed as f64 / sent as f64)
    }

    /// Requests sent; `None` where the number of failures is unknown.
    pub fn sent(&self) -> Option<u64> {
        Some(self.completed + self.failed? + self.cut_off.unwrap_or(0))
    }
}

/// Tokens of the completed requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignTokens {
    /// Prompt tokens.
    pub input: Option<u64>,
    /// Answer tokens.
    pub output: Option<u64>,
    /// Words for who counted them.
    pub counted_by: &'static str,
}

/// Totals over the whole run, including its end, when the load falls. Our rates differ: they cover a window under
/// constant load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WholeRunRates {
    /// The divisor of the totals, seconds.
    pub duration_s: Option<f64>,
    /// Completed requests ÷ duration.
    pub completed_requests_per_s: Option<f64>,
    /// Answer tokens of completed requests ÷ duration.
    pub output_tokens_per_s: Option<f64>,
}

impl WholeRunRates {
    pub(super) fn new(duration_s: Option<f64>, requests: ForeignRequests, tokens: ForeignTokens) -> Self {
        let over = |count: Option<u64>| {
            let duration = duration_s.filter(|&duration| duration > 0.0)?;
            Some(count? as f64 / duration)
        };
        Self {
            duration_s,
            completed_requests_per_s: over(Some(requests.completed)),
            output_tokens_per_s: over(tokens.output),
        }
    }
}

impl ForeignRun {
    /// A run of which nothing is known yet.
    pub(super) fn new(tool: ForeignTool, number: u64) -> Self {
        Self {
            tool,
            tool_version: None,
            number,
            conditions: ForeignConditions::default(),
            requests: ForeignRequests::default(),
            tokens: ForeignTokens::default(),
            whole_run: WholeRunRates::default(),
            latency: Vec::new(),
            reservations: Vec::new(),
            refused: Vec::new(),
            answers: Vec::new(),
            is_export: false,
            own: BTreeMap::new(),
        }
    }

    /// Mean tokens of a prompt and of an answer.
    pub fn mean_tokens(&self) -> (Option<f64>, Option<f64>) {
        let each = |count: Option<u64>| {
            (self.requests.completed > 0).then_some(count? as f64 / self.requests.completed as f64)
        };
        (each(self.tokens.input), each(self.tokens.output))
    }

    /// One of its figures by our key; `None` without an equivalent.
    pub fn figure(&self, subject: &FigureKey) -> Option<Figure> {
        match (subject.statistic, subject.metric) {
            (Some(statistic), _) => self.latency(subject)?.figures.statistic(statistic),
            (None, Metric::ErrorRate) => self.requests.error_rate().map(Figure::Exact),
            (None, _) => None,
        }
    }

    /// The 95 % interval of a percentile, if it could be computed.
    pub fn interval(&self, subject: &FigureKey) -> (Option<f64>, Option<f64>) {
        let row = self.latency(subject).and_then(|latency| latency.figures.computed());
        let percentile = row.zip(subject.statistic).and_then(|(row, statistic)| row.at(statistic));
        percentile.map_or((None, None), |percentile| percentile.interval)
    }

    /// The sample warning of a percentile, if the number of samples is known.
    pub fn mark(&self, subject: &FigureKey) -> Option<SampleWarning> {
        subject.quantile().filter(|own| own.is_usual())?.mark(self.latency(subject)?.figures.n()?)
    }

    fn latency(&self, subject: &FigureKey) -> Option<&ForeignLatency> {
        self.latency.iter().find(|latency| latency.metric == subject.metric)
    }
}

/// A figure that is not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnmatchedFigure {
    /// The tool's name; `*` stands for any ending.
    pub name: &'static str,
    /// Reason why it has no equivalent.
    pub reason: &'static str,
}
