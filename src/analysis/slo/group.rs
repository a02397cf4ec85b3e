//! A run broken down by class, priority, tenant or model.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attainment::Attainment;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::record::{FailureKind, Outcome};
use crate::workload::{Priority, PriorityShare, RequestClass, Slo, Tenant, WorkloadSpec};

/// What a class promises to its requests of one priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Promise {
    /// Name of the class.
    pub class: String,
    /// The priority.
    pub priority: Priority,
    /// Name of the tenant, where it is one with a promise of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The bounds; none are given where nothing is promised.
    pub slo: Slo,
}

/// The requests of one class, priority, tenant or model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// Name of the class, priority, tenant or model.
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
    /// Those that failed, as a share between 0 and 1 of those whose moment came.
    pub error_rate: Option<f64>,
    /// The same of those that the server refused (429, 503).
    pub reject_rate: Option<f64>,
    /// The same of those that the client's own time limits ended.
    pub timeout_rate: Option<f64>,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
    /// How many kept their promise.
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
                let promises = promises(workload, |promise| promise.class == name);
                (name, promises)
            },
        )
    }

    /// One group a priority, the most urgent first.
    pub(crate) fn by_priority(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        Self::by(
            observed,
            |request| request.record.priority,
            |priority| (priority.to_string(), promises(workload, |promise| promise.priority == priority)),
        )
    }

    /// One group a tenant, in the order of the workload; none where nobody tells tenants apart.
    pub(crate) fn by_tenant(observed: &Observed<'_>) -> Vec<Self> {
        let workload = &observed.log.header.workload;
        if workload.tenants.is_empty() {
            return Vec::new();
        }
        Self::by(
            observed,
            |request| request.record.tenant,
            |tenant| match tenant.and_then(|tenant| workload.tenants.get(usize::from(tenant))) {
                Some(tenant) => (tenant.name.clone(), promises_to(workload, tenant)),
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
                (name, promises(workload, |_| true))
            },
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
        let all = requests.len() as u64;
        let share = |wanted| (all > 0).then(|| count(wanted) as f64 / all as f64);
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        Self {
            name,
            promises,
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

/// What a workload promises, as far as it is wanted: to the requests that it can have of each class and priority, and to
/// those of each tenant with a promise of its own.
pub(crate) fn promises(workload: &WorkloadSpec, wanted: impl Fn(&Promise) -> bool) -> Vec<Promise> {
    let mut promises = Vec::new();
    for class in workload.classes.iter().filter(|class| workload.occurs(class)) {
        let mut senders: Vec<Option<&Tenant>> = workload.senders(class).map(own_promise).collect();
        if senders.is_empty() {
            senders.push(None);
        }
        // Those without a promise of their own are one sender, and the first to be told.
        senders.sort_by_key(Option::is_some);
        senders.dedup_by_key(|sender| sender.map(|tenant| &tenant.name));
        for share in priorities(workload, class) {
            promises.extend(senders.iter().map(|sender| promise(class, share, *sender)));
        }
    }
    promises.retain(wanted);
    promises
}

/// What it promises to the requests of one tenant.
pub(crate) fn promises_to(workload: &WorkloadSpec, tenant: &Tenant) -> Vec<Promise> {
    let sent = workload.classes.iter().filter(|class| {
        workload.occurs(class) && workload.senders(class).any(|sender| sender.name == tenant.name)
    });
    let promised =
        |class| priorities(workload, class).map(move |share| promise(class, share, own_promise(tenant)));
    sent.flat_map(promised).collect()
}

/// The priorities that requests of a class can have; a trace may tell one that is never drawn.
fn priorities<'a>(
    workload: &WorkloadSpec,
    class: &'a RequestClass,
) -> impl Iterator<Item = &'a PriorityShare> {
    let told = workload.arrival.trace().is_some();
    class.priorities.iter().filter(move |share| told || share.weight > 0.0)
}

/// The tenant, if it has a promise of its own.
fn own_promise(tenant: &Tenant) -> Option<&Tenant> {
    tenant.slo.is_some().then_some(tenant)
}

fn promise(class: &RequestClass, share: &PriorityShare, tenant: Option<&Tenant>) -> Promise {
    Promise {
        class: class.name.clone(),
        priority: share.priority,
        tenant: tenant.map(|tenant| tenant.name.clone()),
        slo: tenant.and_then(|tenant| tenant.slo).unwrap_or(share.slo),
    }
}
