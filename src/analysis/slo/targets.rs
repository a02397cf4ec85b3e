//! Which bounds a workload sets to which requests.

use serde::Serialize;

use crate::analysis::figures::PartName;
use crate::record::PartKind;
use crate::workload::{Priority, PriorityShare, RequestClass, Slo, Tenant, WorkloadSpec, nearest};

/// The SLO of the requests of one class and priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SloTarget {
    /// Name of the class.
    pub class: String,
    /// The priority.
    pub priority: Priority,
    /// Name of the tenant, where it has an SLO of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The bounds; none where the requests have no SLO.
    pub slo: Slo,
}

/// Returns the SLO targets of a workload that are wanted. They are one for each class and priority that its requests
/// can have, and one for each tenant with an SLO of its own.
pub(crate) fn targets(workload: &WorkloadSpec, wanted: impl Fn(&SloTarget) -> bool) -> Vec<SloTarget> {
    let mut targets = Vec::new();
    for class in workload.classes.iter().filter(|class| workload.occurs(class)) {
        let mut senders: Vec<Option<&Tenant>> = workload.senders(class).map(with_own_slo).collect();
        if senders.is_empty() {
            senders.push(None);
        }
        // Those without an SLO of their own are one sender, and come first.
        senders.sort_by_key(Option::is_some);
        senders.dedup_by_key(|sender| sender.map(|tenant| &tenant.name));
        for share in priorities(workload, class) {
            targets.extend(senders.iter().map(|sender| target(class, share, *sender)));
        }
    }
    targets.retain(wanted);
    targets
}

/// The SLO targets of the requests of one tenant.
fn targets_of_tenant(workload: &WorkloadSpec, tenant: &Tenant) -> Vec<SloTarget> {
    let sent = workload
        .classes
        .iter()
        .filter(|class| workload.occurs(class) && workload.senders(class).any(|sender| sender.name == tenant.name));
    let of_class = |class| priorities(workload, class).map(move |share| target(class, share, with_own_slo(tenant)));
    sent.flat_map(of_class).collect()
}

/// Returns the priorities that requests of a class can have. A trace may name one that is never drawn.
fn priorities<'a>(workload: &WorkloadSpec, class: &'a RequestClass) -> impl Iterator<Item = &'a PriorityShare> {
    let traced = workload.arrival.trace().is_some();
    class.priorities.iter().filter(move |share| traced || share.weight > 0.0)
}

/// The tenant, if it has an SLO of its own.
fn with_own_slo(tenant: &Tenant) -> Option<&Tenant> {
    tenant.slo.is_some().then_some(tenant)
}

fn target(class: &RequestClass, share: &PriorityShare, tenant: Option<&Tenant>) -> SloTarget {
    SloTarget {
        class: class.name.clone(),
        priority: share.priority,
        tenant: tenant.map(|tenant| tenant.name.clone()),
        slo: tenant.and_then(|tenant| tenant.slo).unwrap_or(share.slo),
    }
}

impl PartName {
    /// The SLO targets of the requests meant; none of a slice.
    ///
    /// # Errors
    ///
    /// When no request or check of `workload` has the name, or the name fits requests of several kinds.
    pub(crate) fn targets(&self, workload: &WorkloadSpec) -> Result<Vec<SloTarget>, String> {
        let name = &self.name;
        let meant: Vec<_> = self.kinds().filter(|kind| kind.names(workload).contains(name)).collect();
        match meant.as_slice() {
            [kind] => Ok(targets_of(*kind, name, workload)),
            [] => {
                let named = |kind: PartKind| {
                    let names = kind.names(workload).into_iter();
                    names.map(move |name| format!("{} {name}", kind.name()))
                };
                let known: Vec<_> = self.kinds().flat_map(named).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let choices: Vec<_> = self.kinds().flat_map(|kind| kind.names(workload)).collect();
                let near = nearest(name, choices.iter().map(String::as_str));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let what = if self.kind == Some(PartKind::Slice) { "check" } else { "request" };
                Err(format!("no {what} belongs to `{self}`; known: {known}{near}"))
            }
            several => {
                let ways: Vec<_> = several.iter().map(|kind| format!("`of {} {name}`", kind.name())).collect();
                Err(format!("`{name}` is ambiguous; write {}", ways.join(" or ")))
            }
        }
    }
}

/// The SLO targets of the requests that have this name of this kind.
pub(in crate::analysis) fn targets_of(kind: PartKind, name: &str, workload: &WorkloadSpec) -> Vec<SloTarget> {
    match kind {
        PartKind::Class => targets(workload, |target| target.class == name),
        PartKind::Priority => targets(workload, |target| target.priority.to_string() == name),
        PartKind::Tenant => {
            let tenant = workload.tenants.iter().find(|tenant| tenant.name == name);
            tenant.map(|tenant| targets_of_tenant(workload, tenant)).unwrap_or_default()
        }
        PartKind::Model => targets(workload, |_| true),
        PartKind::Tag => {
            let (key, value) = name.split_once('=').unwrap_or_default();
            let can_have = |class: &&RequestClass| class.can_have_tag(key, value);
            let classes: Vec<_> = workload.classes.iter().filter(can_have).map(|class| &class.name).collect();
            targets(workload, |target| classes.contains(&&target.class))
        }
        PartKind::Slice
        | PartKind::Phase
        | PartKind::Turn
        | PartKind::Agent
        | PartKind::PromptLength
        | PartKind::Server
        | PartKind::Address => Vec::new(),
    }
}
