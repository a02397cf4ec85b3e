//! Holds a run against an objective.

use serde::{Deserialize, Serialize};

use super::objective::Objective;
use crate::analysis::figures::quantile::SampleWarning;
use crate::analysis::statistics::OrderedShare;

/// Result of an objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The objective as typed.
    pub objective: Objective,
    /// Whether it was met.
    pub status: Status,
    /// The figure judged: milliseconds, per second or a share between 0 and 1; absent when it is not known.
    pub value: Option<f64>,
    /// The least that it can be, where only bounds are known.
    pub at_least: Option<f64>,
    /// The most that it can be, where only bounds are known and there is a most.
    pub at_most: Option<f64>,
    /// 95 % interval of a percentile of a latency, milliseconds: by sections of the run, where there is one. A side
    /// is absent if the sample is too small for it.
    pub interval: Option<(Option<f64>, Option<f64>)>,
    /// Of a percentile of one latency per request: the share of the requests that do not keep the bound, between 0 and
    /// 1. One that was cut off before it could tell counts as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_share: Option<f64>,
    /// Where that cannot tell whether the objective is met: about how many requests would, if the share stays what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_requests: Option<u64>,
    /// The same share, with what it is worth.
    #[serde(skip)]
    pub over: Option<OrderedShare>,
    /// Whether it is met by how far all requests are from the bound, not by how few are beyond it: under the assumption
    /// that the tail goes on as it is seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_tail: bool,
    /// A reservation about the figure.
    pub mark: Option<SampleWarning>,
    /// The judgement in words.
    pub line: String,
}

/// Whether an objective was met.
///
/// A percentile is met or missed where the share of the requests beyond the bound surely lies on one side of what it
/// allows, at 95 %; other figures are facts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// The run cannot tell, or lacks the figure.
    #[serde(alias = "unresolvable")]
    Undecided,
}

impl Status {
    /// The status in words.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Undecided => "cannot tell",
        }
    }
}

impl Judgement {
    /// Whether the objective counts as met.
    pub fn passed(&self) -> bool {
        self.status == Status::Met
    }

    /// Its figure in words; `None` where there is none.
    pub(crate) fn figure_in_words(&self) -> Option<String> {
        let show = |value| self.objective.key.show(value);
        Some(match (self.value, self.at_least, self.at_most) {
            (Some(value), _, _) => show(value),
            (None, Some(low), Some(high)) => format!("{} to {}", show(low), show(high)),
            (None, Some(low), None) => format!("over {}", show(low)),
            (None, None, _) => return None,
        })
    }

    /// The 95 % interval of its figure, likewise.
    pub(crate) fn interval_in_words(&self) -> Option<String> {
        let show = |value| self.objective.key.show(value);
        Some(match self.interval? {
            (Some(low), Some(high)) => format!("{} to {}", show(low), show(high)),
            (Some(low), None) => format!("over {}", show(low)),
            (None, Some(high)) => format!("under {}", show(high)),
            (None, None) => return None,
        })
    }
}
