//! A run broken down by class or by priority.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::{Measured, Observed};
use super::{Attainment, LatencyTable};
use crate::record::Outcome;
use crate::workload::{Priority, RequestClass, Slo};

/// What a class promises to its requests of one priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Promise {
    /// Name of the class.
    pub class: String,
    /// The priority.
    pub priority: Priority,
    /// The bounds; none are given where nothing is promised.
    pub slo: Slo,
}

/// The requests of one class, or of one priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Name of the class or priority.
    pub name: String,
    /// What the workload promises to them, in its order.
    pub promises: Vec<Promise>,
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
        Self::by(
            observed,
            |request| request.record.class,
            |class| {
                let own: Vec<_> = classes.get(usize::from(class)).into_iter().collect();
                let name = own.first().map_or_else(|| format!("class {class}"), |class| class.name.clone());
                (name, promises(own, |_| true))
            },
        )
    }

    /// One group a priority, the most urgent first.
    pub(crate) fn by_priority(observed: &Observed<'_>) -> Vec<Self> {
        let classes = &observed.log.header.workload.classes;
        Self::by(
            observed,
            |request| request.record.priority,
            |priority| (priority.to_string(), promises(classes, |of| of == priority)),
        )
    }

    fn by<K: Ord + Copy>(
        observed: &Observed<'_>,
        key: impl Fn(&Measured<'_>) -> K,
        describe: impl Fn(K) -> (String, Vec<Promise>),
    ) -> Vec<Self> {
        let mut groups: BTreeMap<K, Vec<&Measured<'_>>> = BTreeMap::new();
        for request in &observed.requests {
            groups.entry(key(request)).or_default().push(request);
        }
        groups.into_iter().map(|(key, requests)| Self::of(observed, describe(key), &requests)).collect()
    }

    fn of(
        observed: &Observed<'_>,
        (name, promises): (String, Vec<Promise>),
        requests: &[&Measured<'_>],
    ) -> Self {
        let outcomes: Vec<_> = requests.iter().map(|request| request.slo).collect();
        let count = |wanted: fn(&Outcome) -> bool| {
            requests.iter().filter(|request| wanted(&request.record.outcome)).count() as u64
        };
        Self {
            name,
            promises,
            requests: requests.len() as u64,
            completed: count(|outcome| matches!(outcome, Outcome::Completed)),
            failed: count(|outcome| matches!(outcome, Outcome::Failed(_))),
            censored: count(|outcome| matches!(outcome, Outcome::Censored)),
            latency: LatencyTable::of_group(requests),
            slo: Attainment::of(observed, requests.len() as u64, &outcomes),
        }
    }
}

/// What `classes` promise to the priorities wanted.
fn promises<'c>(
    classes: impl IntoIterator<Item = &'c RequestClass>,
    wanted: impl Fn(Priority) -> bool,
) -> Vec<Promise> {
    let mut promises = Vec::new();
    for class in classes {
        for share in class.priorities.iter().filter(|share| wanted(share.priority)) {
            promises.push(Promise { class: class.name.clone(), priority: share.priority, slo: share.slo });
        }
    }
    promises
}
