//! The result of an objective: whether it is met, by which figure, in which words.

use serde::{Deserialize, Serialize, Serializer};

use super::objective::Objective;
use crate::analysis::figures::SampleWarning;
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

/// Whether an objective was met.
///
/// A percentile is met or missed where the share of the requests beyond the bound surely lies on one side of what it
/// allows, at 95 %; other figures are facts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The objective was met.
    Met,
    /// The objective was not met.
    Missed,
    /// The run cannot tell, or lacks the figure.
    #[serde(alias = "unresolvable", alias = "unknown")]
    Undecided,
}

impl Status {
    /// The status in words.
    pub(crate) const fn word(self) -> &'static str {
        self.choose(["met", "missed", "cannot tell"])
    }

    /// The one for it of those for met, missed and undecided.
    pub const fn choose<T: Copy>(self, of: [T; 3]) -> T {
        of[self as usize]
    }

    /// Stores a status, where there is one, under such words.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn store<S: Serializer>(
        status: impl Into<Option<Self>>,
        words: [&'static str; 3],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        status.into().map(|status| status.choose(words)).serialize(serializer)
    }

    /// Judges by two answers: met where both hold, missed where neither does. They may be of a demand at both ends of
    /// an interval.
    pub const fn of_both(one: bool, other: bool) -> Self {
        match (one, other) {
            (true, true) => Self::Met,
            (false, false) => Self::Missed,
            _ => Self::Undecided,
        }
    }

    /// The least favourable: a miss before what is undecided; `None` of none.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().max_by_key(|status| status.choose([0, 2, 1]))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_said_in_the_words_of_what_is_judged() {
        let store = |status: Option<Status>| {
            Status::store(status, ["accepted", "rejected", "open"], serde_json::value::Serializer).unwrap()
        };
        let all = [Some(Status::Met), Some(Status::Missed), Some(Status::Undecided), None].map(store);
        assert_eq!(serde_json::json!(all), serde_json::json!(["accepted", "rejected", "open", null]));
        for (word, status) in
            [("unresolvable", Status::Undecided), ("unknown", Status::Undecided), ("met", Status::Met)]
        {
            assert_eq!(serde_json::from_value::<Status>(word.into()).unwrap(), status);
        }
    }

    #[test]
    fn a_miss_is_worse_than_what_is_undecided() {
        let [met, missed, undecided] = [Status::Met, Status::Missed, Status::Undecided];
        assert_eq!(Status::worst([met, missed, undecided]), Some(missed));
        assert_eq!((Status::worst([undecided, met]), Status::worst([])), (Some(undecided), None));
        assert_eq!(
            [(true, true), (false, false), (true, false)].map(|(a, b)| Status::of_both(a, b)),
            [met, missed, undecided]
        );
    }
}
