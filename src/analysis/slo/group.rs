//! A run broken down by class, priority, tenant or model.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attainment::Attainment;
use super::targets::{SloTarget, targets, targets_of_tenant};
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::record::{FailureKind, Outcome};

/// The requests of one class, priority, tenant or model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// Name of the class, priority, tenant or model.
    pub name: String,
    /// Their SLO targets, in the order of the workload.
    pub slo_targets: Vec<SloTarget>,
    /// Requests whose moment came.
    pub requests: u64,
    /// Those whose answer came whole.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those still running when the run stopped waiting.
    pub censored: u64,
    /// Those that failed, as a share between 0 and 1 of those whose moment came.
    pub error_rate: Option<f64>,
    /// The same of those that the server refused (429, 503).
    pub reject_rate: Option<f64>,
    /// The same of those that the client's own time limits ended.
    pub timeout_rate: Option<f64>,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
    /// How many met their SLO.
    pub slo: Attainment,
}

impl Group {
    /// One group a class, in the order of the workload.
    pub(crate) fn by_class(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        Self::by(
            observed,
            |request| request.record.class,
            |class| {
                let own = workload.classes.get(usize::from(class));
                let name = own.map_or_else(|| format!("class {class}"), |class| class.name.clone());
                let slo_targets = targets(workload, |target| target.class == name);
                (name, slo_targets)
            },
        )
    }

    /// One group a priority, the most urgent first.
    pub(crate) fn by_priority(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        Self::by(
            observed,
            |request| request.record.priority,
            |priority| (priority.to_string(), targets(workload, |target| target.priority == priority)),
        )
    }

    /// One group a tenant, in the order of the workload; none where the workload has no tenants.
    pub(crate) fn by_tenant(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        if workload.tenants.is_empty() {
            return Vec::new();
        }
        Self::by(
            observed,
            |request| request.record.tenant,
            |tenant| match tenant.and_then(|tenant| workload.tenants.get(usize::from(tenant))) {
                Some(tenant) => (tenant.name.clone(), targets_of_tenant(workload, tenant)),
                None => ("no tenant".to_owned(), Vec::new()),
            },
        )
    }

    /// One group a model, in the order of the workload; none where all requests ask for one.
    pub(crate) fn by_model(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        let Some(models) = &workload.models else { return Vec::new() };
        Self::by(
            observed,
            |request| request.record.model,
            |model| {
                let name = model.and_then(|model| models.names.get(usize::from(model)));
                let name = name.map_or_else(|| "no model".to_owned(), Clone::clone);
                (name, targets(workload, |_| true))
            },
        )
    }

    fn by<K: Ord + Copy>(
        observed: &Observed<'_>,
        key: impl Fn(&Measured<'_>) -> K,
        describe: impl Fn(K) -> (String, Vec<SloTarget>),
    ) -> Vec<Self> {
        let mut groups: BTreeMap<K, Vec<&Measured<'_>>> = BTreeMap::new();
        for request in &observed.requests {
            groups.entry(key(request)).or_default().push(request);
        }
        groups.into_iter().map(|(key, requests)| Self::of(observed, describe(key), &requests)).collect()
    }

    fn of(
        observed: &Observed<'_>,
        (name, slo_targets): (String, Vec<SloTarget>),
        requests: &[&Measured<'_>],
    ) -> Self {
        let outcomes: Vec<_> = requests.iter().map(|request| request.slo).collect();
        let count = |wanted: fn(&Outcome) -> bool| {
            requests.iter().filter(|request| wanted(&request.record.outcome)).count() as u64
        };
        let all = requests.len() as u64;
        let share = |wanted| (all > 0).then(|| count(wanted) as f64 / all as f64);
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        Self {
            name,
            slo_targets,
            requests: all,
            completed: count(|outcome| matches!(outcome, Outcome::Completed)),
            failed: count(failed),
            error_rate: share(failed),
            reject_rate: share(|outcome| failed_by(outcome, FailureKind::is_reject)),
            timeout_rate: share(|outcome| failed_by(outcome, FailureKind::is_timeout)),
            censored: count(|outcome| matches!(outcome, Outcome::Censored)),
            latency: LatencyTable::of_group(requests),
            slo: Attainment::of(observed, all, &outcomes),
        }
    }
}

fn failed_by(outcome: &Outcome, kind: fn(FailureKind) -> bool) -> bool {
    matches!(outcome, Outcome::Failed(failure) if kind(failure.reason))
}
