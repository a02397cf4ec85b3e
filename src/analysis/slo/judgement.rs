//! The result of an objective: whether it is met, by which figure, in which words.

use serde::Serialize;

use super::objective::Objective;
use crate::analysis::figures::SampleWarning;
use crate::analysis::judgements::Status;
use crate::analysis::statistics::OrderedShare;
use crate::units::span;

/// Result of an objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The objective as typed.
    pub objective: Objective,
    /// Whether it was met.
    pub status: Status,
    /// The figure judged, in milliseconds, per second or a share between 0 and 1. Absent when it is not known.
    pub value: Option<f64>,
    /// The least that it can be, where only bounds are known.
    pub at_least: Option<f64>,
    /// The most that it can be. Absent where the figure is known, or there is no most.
    pub at_most: Option<f64>,
    /// 95 % interval of a percentile of a latency, milliseconds. It is by sections of the run, where there is one. A
    /// side is absent if the sample is too small for it.
    pub interval: Option<(Option<f64>, Option<f64>)>,
    /// Share of the requests that do not keep the bound, between 0 and 1. It is there for a percentile of one latency
    /// per request. One that was cut off before it could tell counts as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_share: Option<f64>,
    /// Approximate number of requests that would tell whether the objective is met. It is given where that share cannot
    /// tell, if the share stays what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_requests: Option<u64>,
    /// Share of the requests that do not keep the bound, with what it is worth.
    #[serde(skip)]
    pub over: Option<OrderedShare>,
    /// Whether all requests' distance from the bound decides that it is met. The few beyond the bound do not decide
    /// then. It takes the assumption that the tail goes on as it is seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_tail: bool,
    /// A reservation about the figure.
    pub mark: Option<SampleWarning>,
    /// Finding in words, with what is assumed or missing.
    #[serde(skip)]
    pub(crate) found: String,
    /// The judgement in words.
    pub line: String,
}

impl Judgement {
    /// Whether the objective counts as met.
    pub fn passed(&self) -> bool {
        self.status == Status::Met
    }

    /// Returns the figure in words. `None` where there is none.
    pub(crate) fn figure_in_words(&self) -> Option<String> {
        let show = |value| self.objective.key.show(value);
        self.value.map(show).or_else(|| span((self.at_least, self.at_most), " to ", show))
    }

    /// The 95 % interval of its figure, likewise.
    pub(crate) fn interval_in_words(&self) -> Option<String> {
        span(self.interval?, " to ", |value| self.objective.key.show(value))
    }
}
