//! Requests by their tags: one breakdown for each name, of its most frequent values.

use std::collections::BTreeMap;

use serde::Serialize;

use super::group::Group;
use super::objective::Objective;
use super::targets::targets;
use crate::analysis::figures::part::PartKind;
use crate::analysis::requests::observed::Observed;

/// Values of a tag that have figures of their own, the most frequent first, and those that an objective names.
const MOST: usize = 20;

/// The requests of a run by one of their tags.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TagGroups {
    /// Name of the tag.
    pub key: String,
    /// One group a value, the one with the most requests first.
    pub groups: Vec<Group>,
    /// Values beyond the 20 most frequent, which have no group; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_values: Vec<String>,
    /// Requests without this tag, which are in no group.
    pub untagged: u64,
}

impl TagGroups {
    /// One for each tag that requests of the workload can have, in alphabetical order. A value that an
    /// objective names has a group, however rare it is.
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
        let (shown, rest): (Vec<_>, Vec<_>) =
            values.iter().enumerate().partition(|(place, (value, _))| *place < MOST || is_asked(value));
        // The place among those that are shown; others share one, which is dropped.
        let places: BTreeMap<&str, usize> =
            shown.iter().enumerate().map(|(place, (_, (value, _)))| (*value, place)).collect();
        let groups = Group::by(
            observed,
            |request| {
                let record = request.record();
                let value = workload.tag_of(record.class, record.tags, key);
                value.and_then(|value| places.get(value).copied())
            },
            |place| {
                let value = place.and_then(|place| shown.get(place)).map_or("", |(_, (value, _))| *value);
                let classes = workload.classes.iter().filter(|class| class.can_have_tag(key, value));
                let classes: Vec<_> = classes.map(|class| &class.name).collect();
                (value.to_owned(), targets(workload, |target| classes.contains(&&target.class)))
            },
        );
        Self {
            key: key.to_owned(),
            // A value is never empty.
            groups: groups.into_iter().filter(|group| !group.name.is_empty()).collect(),
            more_values: rest.into_iter().map(|(_, (value, _))| (*value).to_owned()).collect(),
            untagged,
        }
    }
}

#[cfg(test)]
mod tests;
