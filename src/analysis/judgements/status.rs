//! Whether a demand was met, as all that judges says it.

use serde::{Deserialize, Serialize, Serializer};

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
