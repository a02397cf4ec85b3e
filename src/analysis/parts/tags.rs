//! The tags of the requests of a run: the values of each name, of which the most frequent have figures of their own.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::requests::observed::Observed;
use crate::analysis::slo::objective::Objective;
use crate::record::PartKind;

/// Values of a tag that have figures of their own, the most frequent first, and those that an objective names.
const MOST: usize = 20;

/// Values of a tag of the requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TagValues {
    /// Name of the tag.
    pub key: String,
    /// Values that are parts of the run, the one with the most requests first.
    #[serde(skip)]
    pub shown: Vec<String>,
    /// Values beyond the 20 most frequent, which are no parts; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_values: Vec<String>,
    /// Requests without this tag, which are in no part by it.
    pub untagged: u64,
}

impl TagValues {
    /// Values of each tag that requests of the workload can have, in alphabetical order. A value that an objective
    /// names is a part, however rare it is.
    pub(crate) fn all(observed: &Observed<'_>, objectives: &[Objective]) -> Vec<Self> {
        let keys = observed.log.header.workload.tag_keys().into_iter();
        keys.map(|key| Self::new(observed, objectives, key)).collect()
    }

    fn new(observed: &Observed<'_>, objectives: &[Objective], key: &str) -> Self {
        let workload = &observed.log.header.workload;
        let mut counts: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for request in &observed.requests {
            let record = request.record();
            *counts.entry(workload.tag_of(record.class, record.tags, key)).or_default() += 1;
        }
        let untagged = counts.remove(&None).unwrap_or_default();
        let mut values: Vec<_> = counts.into_iter().filter_map(|(value, n)| Some((value?, n))).collect();
        values.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
        let is_asked = |value: &str| {
            let parts = objectives.iter().filter_map(|objective| objective.key.part.as_ref());
            let tags = parts.filter(|part| part.kinds().any(|kind| kind == PartKind::Tag));
            tags.filter_map(|part| part.tag()).any(|tag| tag == (key, value))
        };
        let values = values.into_iter().map(|(value, _)| value.to_owned()).enumerate();
        let (shown, more): (Vec<_>, Vec<_>) =
            values.partition(|(place, value)| *place < MOST || is_asked(value));
        let [shown, more_values] =
            [shown, more].map(|values| values.into_iter().map(|(_, value)| value).collect());
        Self { key: key.to_owned(), shown, more_values, untagged }
    }
}

#[cfg(test)]
mod tests;
