//! Holds a run against an objective.

use serde::{Deserialize, Serialize};

use super::objective::Objective;
use crate::analysis::figures::quantile::SampleWarning;

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
    /// Whether the bound lies inside that interval, so that another run may fall on the other side of it.
    pub close: bool,
    /// Of a percentile of one latency per request: the share of the requests that do not keep the bound, between 0 and
    /// 1. Where it is known how many of those that were cut off do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_share: Option<f64>,
    /// A reservation about the figure.
    pub mark: Option<SampleWarning>,
    /// The judgement in words.
    pub line: String,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Status {
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// The run has not enough data, which counts as missed: nothing unknown passes.
    Unresolvable,
}

impl Status {
    /// The status in words.
    pub(crate) fn word(self) -> &'static str {
        self.into()
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
