//! A run as another tool kept it, whichever it was.

use serde::{Serialize, Serializer};

use super::fields::{FieldProblem, ResultFields};
use super::figures::ForeignLatency;
use super::refused::UnmatchedFigure;
use super::tool::ForeignTool;
use crate::analysis::{Figure, FigureKey, Mark, Share, Statistic};

/// A run of another tool, its figures under our names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignRun {
    /// Who flew it.
    pub tool: ForeignTool,
    /// The tool's version, where its file tells.
    pub tool_version: Option<String>,
    /// Its place in its file, from 1.
    pub number: u64,
    /// What it was flown under, as far as its file tells.
    pub conditions: ForeignConditions,
    /// What became of its requests.
    pub requests: ForeignRequests,
    /// Tokens of the requests that completed.
    pub tokens: ForeignTokens,
    /// Totals over all of it.
    pub whole_run: WholeRunRates,
    /// Latencies, of completed requests only.
    pub latency: Vec<ForeignLatency>,
    /// What a reader must know of these figures.
    pub reservations: Vec<String>,
    /// Figures of the tool that have no equal here.
    pub refused: Vec<UnmatchedFigure>,
}

/// What a run was flown under; absent is what its file does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ForeignConditions {
    /// The model asked for.
    pub model: Option<String>,
    /// `chat`, `completions`, or what else was called.
    pub endpoint: Option<String>,
    /// Whether answers were streamed.
    pub streamed: Option<bool>,
    /// How requests came: `poisson`, `constant`, `gamma`, `all_at_once`, `closed`, `ramp_up`, or the tool's own word.
    pub arrival: Option<String>,
    /// Shape of gamma gaps, of which 1 is Poisson: only of arrivals that are `gamma`.
    pub burstiness: Option<f64>,
    /// Requests per second that were asked for.
    pub rate_per_s: Option<f64>,
    /// Most requests in flight.
    pub max_concurrency: Option<ConcurrencyCap>,
}

/// Whether the tool held requests back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrencyCap {
    /// It did not.
    Uncapped,
    /// So many were in flight at most.
    At(u64),
}

impl ConcurrencyCap {
    /// The cap under `key`, of which null and 0 are none; `None` where nothing is said of one.
    pub(super) fn read(fields: &ResultFields<'_>, key: &str) -> Result<Option<Self>, FieldProblem> {
        let most = fields.count(key)?.filter(|&most| most > 0);
        Ok(fields.has(key).then(|| most.map_or(Self::Uncapped, Self::At)))
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

/// What became of the requests of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForeignRequests {
    /// Those that the tool counts as completed.
    pub completed: u64,
    /// Those that it counts as failed; absent where its file does not tell.
    pub failed: Option<u64>,
    /// Those that it cut off at its end; absent where it does not tell of such.
    pub cut_off: Option<u64>,
}

impl ForeignRequests {
    /// Failed requests as a share, between 0 and 1, of those that were sent.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        let failed = self.failed?;
        let sent = self.sent()?;
        (sent > 0).then(|| failed as f64 / sent as f64)
    }

    /// Those that were sent; `None` where it is not known how many failed.
    #[must_use]
    pub fn sent(&self) -> Option<u64> {
        Some(self.completed + self.failed? + self.cut_off.unwrap_or(0))
    }
}

/// Tokens of the completed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ForeignTokens {
    /// Of their prompts.
    pub input: Option<u64>,
    /// Of their answers.
    pub output: Option<u64>,
    /// Who counted them.
    pub counted_by: &'static str,
}

/// Totals over the whole run, its end included, in which load falls off. They are not our rates, which are those of a
/// window in which load keeps coming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WholeRunRates {
    /// What the totals are divided by, seconds.
    pub duration_s: Option<f64>,
    /// Completed requests ÷ duration.
    pub completed_requests_per_s: Option<f64>,
    /// Answer tokens of completed requests ÷ duration.
    pub output_tokens_per_s: Option<f64>,
}

impl WholeRunRates {
    pub(super) fn of(duration_s: Option<f64>, requests: ForeignRequests, tokens: ForeignTokens) -> Self {
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
    /// Tokens of a prompt and of an answer, on average.
    #[must_use]
    pub fn mean_tokens(&self) -> (Option<f64>, Option<f64>) {
        let each = |count: Option<u64>| {
            (self.requests.completed > 0).then_some(count? as f64 / self.requests.completed as f64)
        };
        (each(self.tokens.input), each(self.tokens.output))
    }

    /// One of its figures by our name; `None` where it has none that means the same.
    #[must_use]
    pub fn figure(&self, subject: FigureKey) -> Option<Figure> {
        match subject {
            FigureKey::Latency(statistic, _) => self.latency(subject)?.figures.statistic(statistic),
            FigureKey::Share(Share::Errors) => self.requests.error_rate().map(Figure::Exact),
            FigureKey::Rate(_) | FigureKey::Share(_) => None,
        }
    }

    /// The 95 % interval of a percentile, where it could be computed.
    #[must_use]
    pub fn interval(&self, subject: FigureKey) -> (Option<f64>, Option<f64>) {
        let (FigureKey::Latency(Statistic::Percentile(quantile), _), Some(row)) =
            (subject, self.latency(subject).and_then(|latency| latency.figures.computed()))
        else {
            return (None, None);
        };
        row.percentile(quantile).best_interval()
    }

    /// A reservation about a percentile, as far as the number of its samples is known.
    #[must_use]
    pub fn mark(&self, subject: FigureKey) -> Option<Mark> {
        let FigureKey::Latency(Statistic::Percentile(quantile), _) = subject else { return None };
        quantile.mark(self.latency(subject)?.figures.n()?)
    }

    fn latency(&self, subject: FigureKey) -> Option<&ForeignLatency> {
        let FigureKey::Latency(_, metric) = subject else { return None };
        self.latency.iter().find(|latency| latency.metric == metric)
    }
}
