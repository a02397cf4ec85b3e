//! The name of a part of a run: of one class, priority, tenant, model or tag, or of a slice of the golden prompts.

use std::fmt;

use crate::record::{PartKind, RequestRecord};
use crate::workload::{GoldenCheck, Priority, WorkloadSpec};

/// Name of a part of a run, as it stands behind `of` in the name of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartName {
    /// Kind of the name; absent where that was not said, for only one can be meant.
    pub kind: Option<PartKind>,
    /// The name.
    pub name: String,
}

impl PartKind {
    /// The names that requests of `workload`, or its golden prompts, can have of this kind.
    pub(crate) fn names(self, workload: &WorkloadSpec) -> Vec<String> {
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
            Self::Tag => {
                let keys = workload.tag_keys().into_iter();
                let tags =
                    keys.flat_map(|key| workload.tag_values(key).into_iter().map(move |value| (key, value)));
                tags.map(|(key, value)| format!("{key}={value}")).collect()
            }
            Self::Phase | Self::Turn => Vec::new(),
            Self::Slice => GoldenCheck::slices(&workload.checks).into_iter().map(str::to_owned).collect(),
        }
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{} {}", kind.name(), self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl PartName {
    /// Reads what stands behind `of`: a name, or its kind and the name.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Err("`of` needs a name after it".to_owned()),
            ["tag", tag @ ..] if !tag.is_empty() => {
                // The value of a tag may have several words.
                let name = tag.join(" ");
                match name.split_once('=') {
                    Some(_) => Ok(Self { kind: Some(PartKind::Tag), name }),
                    None => Err(format!("`tag {name}` has no value; write it like `of tag country=de`")),
                }
            }
            [name] => Ok(Self { kind: None, name: (*name).to_owned() }),
            [kind, name] => match PartKind::NAMED.into_iter().find(|known| known.name() == *kind) {
                Some(kind) => Ok(Self { kind: Some(kind), name: (*name).to_owned() }),
                None => Err(format!(
                    "`{kind}` is not a group of requests; use class, priority, tenant, model or tag, or slice for \
                     checks"
                )),
            },
            more => Err(format!("`{}` is more than a name", more.join(" "))),
        }
    }

    /// Its name as a tag: what is before the first `=`, and what is behind it.
    pub(crate) fn tag(&self) -> Option<(&str, &str)> {
        self.name.split_once('=')
    }

    /// The kinds of which the name can be: a bare name is never that of a slice, which no request has.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = PartKind> {
        let kind = self.kind;
        let can_be = move |other: &PartKind| kind.map_or(*other != PartKind::Slice, |kind| kind == *other);
        PartKind::NAMED.into_iter().filter(can_be)
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
            PartKind::Tag => self
                .tag()
                .is_some_and(|(key, value)| workload.tag_of(request.class, request.tags, key) == Some(value)),
            PartKind::Slice | PartKind::Phase | PartKind::Turn => false,
        };
        self.kinds().any(is)
    }
}

#[cfg(test)]
mod tests;
