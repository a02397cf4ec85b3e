//! The name of a part of a run: of one class, priority, tenant, model or tag, or of a slice of the golden prompts.

use std::fmt;

use crate::record::{PartKind, RequestRecord};
use crate::workload::{GoldenCheck, Priority, WorkloadSpec};

/// Name of a part of a run. It stands behind `of` in the name of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartName {
    /// Kind of the name. Absent where that was not said, for only one can be meant.
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
                            class.priorities.iter().any(|share| share.priority == priority && share.weight > 0.0)
                        })
                })
                .map(|priority| priority.to_string())
                .collect(),
            Self::Tenant => {
                let sending =
                    |name: &str| classes().any(|class| workload.senders(class).any(|sender| sender.name == name));
                let tenants = workload.tenants.iter().map(|tenant| tenant.name.clone());
                tenants.filter(|name| sending(name)).collect()
            }
            Self::Model => workload.models.iter().flat_map(|models| models.names.clone()).collect(),
            Self::Tag => {
                let keys = workload.tag_keys().into_iter();
                let tags = keys.flat_map(|key| workload.tag_values(key).into_iter().map(move |value| (key, value)));
                tags.map(|(key, value)| format!("{key}={value}")).collect()
            }
            Self::Phase | Self::Turn | Self::Agent | Self::PromptLength | Self::Server | Self::Address => Vec::new(),
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

    /// Splits the name as a tag. The parts are what is before the first `=`, and what is behind it.
    pub(crate) fn tag(&self) -> Option<(&str, &str)> {
        self.name.split_once('=')
    }

    /// Returns the kinds of which the name can be. A bare name is never that of a slice, which no request has.
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
            PartKind::Tag => {
                self.tag().is_some_and(|(key, value)| workload.tag_of(request.class, request.tags, key) == Some(value))
            }
            PartKind::Slice
            | PartKind::Phase
            | PartKind::Turn
            | PartKind::Agent
            | PartKind::PromptLength
            | PartKind::Server
            | PartKind::Address => false,
        };
        self.kinds().any(is)
    }
}

#[cfg(test)]
mod tests {
    //! Holds objectives of parts of a run to the figures of those parts.

    use super::*;
    use crate::analysis::figures::catalogue::Metric;
    use crate::analysis::figures::key::FigureKey;
    use crate::analysis::figures::quantile::Quantile;
    use crate::analysis::judgements::Status;
    use crate::analysis::slo::objective::Objective;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::{Failure, FailureKind, RunLog};
    use crate::workload::{Slo, Tenant};

    fn objective(text: &str) -> Objective {
        text.parse().unwrap()
    }

    fn tenant(name: &str, classes: &[&str], weight: f64) -> Tenant {
        let classes = classes.iter().map(ToString::to_string).collect();
        Tenant { name: name.to_owned(), weight, slo: None, classes }
    }

    /// Makes a run of two tenants, `victim` and `noisy`. `victim` waits for 900 ms and one of its four requests is
    /// refused. `noisy` waits for 100 ms.
    fn shared() -> RunLog {
        let refused = || Failure::new(FailureKind::HttpStatus(503), "busy");
        let records = (0..12).map(|i| {
            let victim = i % 3 == 0;
            let (number, priority) = if victim { (0, Priority::High) } else { (1, Priority::Low) };
            let begun = record(i).class(number, priority).sent_at(0, 0, 0);
            let ended = match i {
                9 => begun.failed(20, refused()),
                _ => begun.paced(if victim { 900 } else { 100 }, 10, 11),
            };
            let mut record = ended.build();
            record.tenant = Some(number);
            record
        });
        let mut log = run(1_000, records.collect());
        let bounds = Slo { ttft_ms: Some(500.0), ..Slo::default() };
        log.header.workload.classes =
            vec![class("chat", &[(Priority::High, bounds)]), class("batch", &[(Priority::Low, Slo::default())])];
        log.header.workload.tenants = vec![tenant("victim", &["chat"], 1.0), tenant("noisy", &["batch"], 2.0)];
        log
    }

    #[test]
    fn a_figure_can_be_one_partys() {
        for (text, kind, name) in [
            ("p95 ttft of chat < 500ms", None, "chat"),
            ("P95 ttft  of tenant  Chat < 500 ms", Some(PartKind::Tenant), "Chat"),
            ("p95 ttft of of < 1s", None, "of"),
            ("p95 ttft of model meta/llama-3.1 < 1s", Some(PartKind::Model), "meta/llama-3.1"),
        ] {
            let read = objective(text);
            let part = Some(PartName { kind, name: name.to_owned() });
            let p95 = FigureKey::percentile(Quantile::P95, Metric::Ttft);
            assert_eq!(read.key, FigureKey { part, ..p95 }, "{text}");
        }
        for (text, problem) in [
            ("p95 ttft of < 1s", "`of` needs a name after it"),
            (
                "p95 ttft of team a < 1s",
                "`team` is not a group of requests; use class, priority, tenant, model or tag, or slice for checks",
            ),
            ("p95 ttft of class a b < 1s", "`class a b` is more than a name"),
            ("p95 itl of a < 1s", "`p95 itl` exists only for the whole run"),
            ("output_tokens_per_s of a > 1/s", "`output_tokens_per_s` exists only for the whole run"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("p95 ttft of chat"), "{error}");
        }
    }

    #[test]
    fn a_victim_is_judged_by_its_own_figures() {
        let log = shared();
        let judged = |text: &str| {
            let objective = objective(text);
            objective.check(&log.header.workload).unwrap();
            let judgement = summarise(&log, &[objective]).objectives.remove(0);
            (judgement.status, judgement.value)
        };
        for (text, value, over) in [
            ("p50 ttft < 500ms", 100.0, "3 of 11 requests over"),
            ("p50 ttft of victim < 901ms", 900.0, "0 of 3 requests over"),
            ("p95 ttft of noisy < 1s", 100.0, "0 of 8 requests over; would take about "),
        ] {
            let judgement = summarise(&log, &[objective(text)]).objectives.remove(0);
            assert_eq!((judgement.status, judgement.value), (Status::Undecided, Some(value)), "{text}");
            assert!(judgement.line.contains(over), "{}", judgement.line);
        }
        for (text, status, value) in [
            ("p50 ttft of victim < 500ms", Status::Missed, 900.0),
            ("p50 ttft of chat < 500ms", Status::Missed, 900.0),
            ("max ttft of priority high < 1s", Status::Met, 900.0),
            ("mean ttft of noisy < 500ms", Status::Met, 100.0),
            ("mean tpot of noisy <= 10ms", Status::Met, 10.0),
            ("slo_attainment of victim > 95%", Status::Missed, 0.0),
            ("goodput of victim > 1/s", Status::Missed, 0.0),
            ("error_rate of victim < 10%", Status::Missed, 0.25),
            ("reject_rate of tenant victim < 10%", Status::Missed, 0.25),
            ("timeout_rate of victim < 10%", Status::Met, 0.0),
            ("error_rate of noisy < 10%", Status::Met, 0.0),
        ] {
            assert_eq!(judged(text), (status, Some(value)), "{text}");
        }
    }

    #[test]
    fn what_one_party_may_lose_says_nothing_of_the_others() {
        let log = shared();
        let valid = |text: &str| summarise(&log, &[objective(text)]).verdict.reasons.is_empty();
        assert!(valid("error_rate < 50%"));
        assert!(!valid("error_rate of victim < 50%"), "one of twelve requests failed");
    }

    #[test]
    fn a_name_that_says_not_which_requests_are_meant_is_refused() {
        let mut log = shared();
        let refusal = |text: &str, log: &RunLog| objective(text).check(&log.header.workload).unwrap_err().to_string();
        let unknown = refusal("p95 ttft of vicitm < 1s", &log);
        assert!(
            unknown.contains(
                "no request belongs to `vicitm`; known: class chat, class batch, priority high, priority low, \
                              tenant victim, tenant noisy"
            ),
            "{unknown}"
        );
        assert!(refusal("p95 ttft of class victim < 1s", &log).contains("known: class chat, class batch"));
        assert!(refusal("p95 ttft of model m < 1s", &log).contains("known: none"));
        assert!(
            refusal("slo_attainment of noisy > 90%", &log).contains("no request of `noisy` has an SLO"),
            "nothing to attain"
        );

        log.header.workload.tenants[0].name = "chat".to_owned();
        let several = refusal("p50 ttft of chat < 1s", &log);
        assert!(several.contains("write `of class chat` or `of tenant chat`"), "{several}");
        assert!(objective("p50 ttft of tenant chat < 1s").check(&log.header.workload).is_ok());
        let unclear = summarise(&log, &[objective("p50 ttft of chat < 1s")]).objectives.remove(0);
        assert_eq!(unclear.status, Status::Undecided);

        // Nobody sends for a tenant without weight, and no class without weight has a request.
        log.header.workload.tenants.push(tenant("idle", &[], 0.0));
        assert!(refusal("p50 ttft of idle < 1s", &log).contains("no request belongs to `idle`"));
        log.header.workload.classes[1].weight = 0.0;
        assert!(refusal("p50 ttft of batch < 1s", &log).contains("no request belongs to `batch`"));
    }
}
