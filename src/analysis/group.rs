//! A run broken down by class or by priority.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::{Measured, Observed};
use super::{Attainment, LatencyTable};
use crate::record::Outcome;

/// The requests of one class, or of one priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Name of the class or priority.
    pub name: String,
    /// Requests whose moment came.
    pub requests: u64,
    /// Those whose answer came whole.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those still running when the run stopped waiting.
    pub censored: u64,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
    /// How many kept their promise.
    pub slo: Attainment,
}

impl Group {
    /// One group a class, in the order of the workload.
    pub(crate) fn by_class(observed: &Observed<'_>) -> Vec<Self> {
        let classes = &observed.log.header.workload.classes;
        let name = |class: u16| match classes.get(usize::from(class)) {
            Some(class) => class.name.clone(),
            None => format!("class {class}"),
        };
        Self::by(observed, |request| request.record.class, name)
    }

    /// One group a priority, the most urgent first.
    pub(crate) fn by_priority(observed: &Observed<'_>) -> Vec<Self> {
        Self::by(observed, |request| request.record.priority, |priority| priority.to_string())
    }

    fn by<K: Ord + Copy>(
        observed: &Observed<'_>,
        key: impl Fn(&Measured<'_>) -> K,
        name: impl Fn(K) -> String,
    ) -> Vec<Self> {
        let mut groups: BTreeMap<K, Vec<&Measured<'_>>> = BTreeMap::new();
        for request in &observed.requests {
            groups.entry(key(request)).or_default().push(request);
        }
        groups.into_iter().map(|(key, requests)| Self::of(observed, name(key), &requests)).collect()
    }

    fn of(observed: &Observed<'_>, name: String, requests: &[&Measured<'_>]) -> Self {
        let outcomes: Vec<_> = requests.iter().map(|request| request.slo).collect();
        let count = |wanted: fn(&Outcome) -> bool| {
            requests.iter().filter(|request| wanted(&request.record.outcome)).count() as u64
        };
        Self {
            name,
            requests: requests.len() as u64,
            completed: count(|outcome| matches!(outcome, Outcome::Completed)),
            failed: count(|outcome| matches!(outcome, Outcome::Failed(_))),
            censored: count(|outcome| matches!(outcome, Outcome::Censored)),
            latency: LatencyTable::of_group(requests),
            slo: Attainment::of(observed, requests.len() as u64, &outcomes),
        }
    }
}
