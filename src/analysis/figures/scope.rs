//! The part of a run's requests that an objective is about, and the figures that there are of parts.

use std::fmt;

use super::metric::Metric;
use super::percentile::Figure;
use super::subject::{FigureKey, Flow, Share};
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::slo::group::{Group, Promise};
use crate::analysis::slo::group::{promises, promises_to};
use crate::analysis::summary::run::Summary;
use crate::record::RequestRecord;
use crate::workload::{Priority, WorkloadSpec};

/// The requests of one class, priority, tenant or model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Of what kind the name is; absent where that was not said, for only one can be meant.
    pub kind: Option<PartKind>,
    /// The name.
    pub name: String,
}

/// What tells the requests of a run apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// Their class.
    Class,
    /// Their priority.
    Priority,
    /// Whose they are.
    Tenant,
    /// The model that they ask for.
    Model,
}

impl PartKind {
    const ALL: [Self; 4] = [Self::Class, Self::Priority, Self::Tenant, Self::Model];

    const fn name(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Priority => "priority",
            Self::Tenant => "tenant",
            Self::Model => "model",
        }
    }

    /// The names that requests of `workload` can have of this kind.
    fn names(self, workload: &WorkloadSpec) -> Vec<String> {
        let classes = || workload.classes.iter().filter(|class| workload.occurs(class));
        match self {
            Self::Class => classes().map(|class| class.name.clone()).collect(),
            Self::Priority => [Priority::High, Priority::Medium, Priority::Low]
                .into_iter()
                .filter(|&priority| {
                    // A trace may tell priorities of its own.
                    workload.arrival.trace().is_some()
                        || classes().any(|class| {
                            class
                                .priorities
                                .iter()
                                .any(|share| share.priority == priority && share.weight > 0.0)
                        })
                })
                .map(|priority| priority.to_string())
                .collect(),
            Self::Tenant => {
                let sending = |name: &str| {
                    classes().any(|class| workload.senders(class).any(|sender| sender.name == name))
                };
                let tenants = workload.tenants.iter().map(|tenant| tenant.name.clone());
                tenants.filter(|name| sending(name)).collect()
            }
            Self::Model => workload.models.iter().flat_map(|models| models.names.clone()).collect(),
        }
    }

    fn groups(self, summary: &Summary) -> &[Group] {
        match self {
            Self::Class => &summary.by_class,
            Self::Priority => &summary.by_priority,
            Self::Tenant => &summary.by_tenant,
            Self::Model => &summary.by_model,
        }
    }

    /// What `workload` promises to requests that have this name of this kind.
    fn promised(self, name: &str, workload: &WorkloadSpec) -> Vec<Promise> {
        match self {
            Self::Class => promises(workload, |promise| promise.class == name),
            Self::Priority => promises(workload, |promise| promise.priority.to_string() == name),
            Self::Tenant => {
                let tenant = workload.tenants.iter().find(|tenant| tenant.name == name);
                tenant.map(|tenant| promises_to(workload, tenant)).unwrap_or_default()
            }
            Self::Model => promises(workload, |_| true),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{} {}", kind.name(), self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Scope {
    /// Reads what stands behind `of`: a name, or its kind and the name.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Err("`of` has no name behind it".to_owned()),
            [name] => Ok(Self { kind: None, name: (*name).to_owned() }),
            [kind, name] => match PartKind::ALL.into_iter().find(|known| known.name() == *kind) {
                Some(kind) => Ok(Self { kind: Some(kind), name: (*name).to_owned() }),
                None => {
                    Err(format!("`{kind}` tells no requests apart; use class, priority, tenant or model"))
                }
            },
            more => Err(format!("`{}` is more than a name", more.join(" "))),
        }
    }

    /// The kinds of which the name can be.
    fn kinds(&self) -> impl Iterator<Item = PartKind> {
        let kind = self.kind;
        PartKind::ALL.into_iter().filter(move |other| kind.is_none_or(|kind| kind == *other))
    }

    /// What is promised to the requests meant.
    ///
    /// # Errors
    ///
    /// When no request of `workload` has the name, or the name says not which requests are meant.
    pub(crate) fn promised(&self, workload: &WorkloadSpec) -> Result<Vec<Promise>, String> {
        let name = &self.name;
        let meant: Vec<_> = self.kinds().filter(|kind| kind.names(workload).contains(name)).collect();
        match meant.as_slice() {
            [kind] => Ok(kind.promised(name, workload)),
            [] => {
                let named = |kind: PartKind| {
                    let names = kind.names(workload).into_iter();
                    names.map(move |name| format!("{} {name}", kind.name()))
                };
                let known: Vec<_> = self.kinds().flat_map(named).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(format!("no request is of `{self}`; there are: {known}"))
            }
            several => {
                let ways: Vec<_> =
                    several.iter().map(|kind| format!("`of {} {name}`", kind.name())).collect();
                Err(format!("`{name}` says not which requests are meant; write {}", ways.join(" or ")))
            }
        }
    }

    /// Whether a request of a run of `workload` is meant.
    pub(crate) fn has(&self, workload: &WorkloadSpec, request: &RequestRecord) -> bool {
        let is = |kind| match kind {
            PartKind::Class => {
                workload.classes.get(usize::from(request.class)).is_some_and(|class| class.name == self.name)
            }
            PartKind::Priority => request.priority.to_string() == self.name,
            PartKind::Tenant => {
                let tenant = request.tenant.and_then(|tenant| workload.tenants.get(usize::from(tenant)));
                tenant.is_some_and(|tenant| tenant.name == self.name)
            }
            PartKind::Model => {
                let models = workload.models.as_ref().zip(request.model);
                models.is_some_and(|(mix, model)| mix.names.get(usize::from(model)) == Some(&self.name))
            }
        };
        self.kinds().any(is)
    }

    /// The requests of a run that are meant; `None` where there are none, or the name says not which.
    fn group<'s>(&self, summary: &'s Summary) -> Option<&'s Group> {
        let mut groups =
            self.kinds().flat_map(|kind| kind.groups(summary)).filter(|group| group.name == self.name);
        groups.next().filter(|_| groups.next().is_none())
    }

    /// The figure `subject` of these requests; `None` where they have none.
    pub(crate) fn read(&self, subject: FigureKey, summary: &Summary) -> Option<Figure> {
        let group = self.group(summary)?;
        match subject {
            FigureKey::Latency(statistic, metric) => statistic.of(group.latency.row(metric)?),
            FigureKey::Rate(Flow::Goodput) => group.slo.goodput_per_s.map(Figure::Exact),
            FigureKey::Rate(Flow::CompletedRequests | Flow::InputTokens | Flow::OutputTokens)
            | FigureKey::Share(Share::CheckPasses | Share::ValidAnswers) => None,
            FigureKey::Share(Share::Errors) => group.error_rate.map(Figure::Exact),
            FigureKey::Share(Share::Rejects) => group.reject_rate.map(Figure::Exact),
            FigureKey::Share(Share::Timeouts) => group.timeout_rate.map(Figure::Exact),
            FigureKey::Share(Share::SloAttainment) => group.slo.slo_attainment.map(Figure::Exact),
        }
    }

    /// The latency `metric` of these requests.
    pub(crate) fn row<'s>(&self, metric: Metric, summary: &'s Summary) -> Option<&'s LatencyRow> {
        self.group(summary)?.latency.row(metric)
    }
}

impl FigureKey {
    /// Whether there is such a figure of a part of the requests too, not of the whole run alone.
    pub(crate) const fn is_of_parts(self) -> bool {
        match self {
            Self::Latency(_, metric) => matches!(metric, Metric::Ttft | Metric::Tpot | Metric::E2e),
            Self::Rate(flow) => matches!(flow, Flow::Goodput),
            Self::Share(Share::Errors | Share::Rejects | Share::Timeouts | Share::SloAttainment) => true,
            Self::Share(Share::CheckPasses | Share::ValidAnswers) => false,
        }
    }
}

#[cfg(test)]
mod tests;
