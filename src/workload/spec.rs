//! The whole recipe of a run.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::limits::{REQUESTS, SECONDS, WAIT};
use super::window::RunLength;
use crate::workload::answer::golden::GoldenCheck;
use crate::workload::answer::schema_files;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::class::model_mix::ModelMix;
use crate::workload::class::request_class::RequestClass;
use crate::workload::class::slo::{Priority, Slo};
use crate::workload::class::tenant::Tenant;
use crate::workload::lengths::weights;
use crate::workload::reading::fields::{Fields, Given};
use crate::workload::reading::json_text;
use crate::workload::reading::mistakes::{Mistakes, SpecError};
use crate::workload::reading::node::Node;
use crate::workload::reading::place::SpecValue;
use crate::workload::reading::toml_text;
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::{Trace, TraceSurvey};

/// Seconds between golden prompts under load, if there are any.
const SOONEST_CHECK_S: f64 = 0.05;

/// A workload: which requests arrive, when, for how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadSpec {
    /// Name, used in reports and in the names of result folders: letters, digits, `_` and `-`.
    pub name: String,
    /// One or two sentences for `skyline workloads`; empty when the file gives none.
    pub description: String,
    /// Seed of every random stream of the schedule; 0 when the file gives none.
    pub seed: u64,
    /// Requests scheduled before this many seconds belong to the run; later ones only keep the load up while
    /// the last of them finish. When the file gives none: 60, or the end of the trace's slice where one is replayed.
    pub horizon_s: f64,
    /// When given, the run has this many requests, warm-up included, in place of ending at `horizon_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Requests scheduled in the first `warmup_s` seconds are flown but not counted. When the file gives
    /// none: that of the run of which a trace was made, else a tenth of the run and at most 30 s, which lets connections,
    /// caches and the number of requests in flight settle.
    pub warmup_s: f64,
    /// How long after the horizon to wait for requests still running before they are censored, seconds; 60
    /// when the file gives none.
    pub drain_s: f64,
    /// When requests arrive: one process that the classes share by weight, or one for each class.
    pub arrival: ArrivalPattern,
    /// The kinds of request; at least one. Where a trace is replayed, a request is of the class that is called as its
    /// kind in the trace; one of another kind, or of none, is of any class, by their weights.
    pub classes: Vec<RequestClass>,
    /// Those who send the requests; empty where nobody tells them apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
    /// The models that requests ask for; absent: the one of the command line, or the server's first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelMix>,
    /// Golden prompts, asked before the run and under its load; none when the file gives none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<GoldenCheck>,
    /// Seconds from one check under load to the next, in turn and from the window's first moment on; 0: only before the
    /// run. When the file gives none: [`GoldenCheck::USUAL_EVERY_S`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_every_s: Option<f64>,
}

impl WorkloadSpec {
    /// Reads TOML. `origin` names the text in the error: a path, say. A trace is only replayed by a spec that is
    /// read by [`WorkloadSpec::from_toml_with`].
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_toml_with(text, origin, &unread)
    }

    /// Reads JSON; otherwise as [`WorkloadSpec::from_toml`].
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_json_with(text, origin, &unread)
    }

    /// Reads TOML; `survey` reads the trace, if the spec has one.
    pub fn from_toml_with(text: &str, origin: &str, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        Self::from_node(toml_text::parse(text), origin, None, survey)
    }

    /// Reads JSON; `survey` reads the trace, if the spec has one.
    pub fn from_json_with(text: &str, origin: &str, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        Self::from_node(json_text::parse(text), origin, None, survey)
    }

    /// Reads TOML of a file in `folder`, at which paths of schemas begin.
    pub(super) fn from_toml_in(
        folder: &Path,
        text: &str,
        origin: &str,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        Self::from_node(toml_text::parse(text), origin, Some(folder), survey)
    }

    /// Reads JSON of a file in `folder`; otherwise as [`WorkloadSpec::from_toml_in`].
    pub(super) fn from_json_in(
        folder: &Path,
        text: &str,
        origin: &str,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        Self::from_node(json_text::parse(text), origin, Some(folder), survey)
    }

    /// Reads what [`Serialize`] wrote.
    pub(super) fn from_value(value: serde_json::Value, origin: &str) -> Result<Self, SpecError> {
        Self::from_value_with(value, origin, &unread)
    }

    /// Reads what [`Serialize`] wrote, or what stands for it; `survey` reads the trace, if it has one.
    pub(super) fn from_value_with(
        value: serde_json::Value,
        origin: &str,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        Self::from_node(Ok(Node::from(value)), origin, None, survey)
    }

    fn from_node(
        node: Result<Node, Mistakes>,
        origin: &str,
        folder: Option<&Path>,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        let mut node = node.map_err(|mistakes| mistakes.into_error(origin))?;
        let mistakes = Mistakes::default();
        if let Some(folder) = folder {
            schema_files::inline(&mut node, folder, &mistakes);
            if !mistakes.is_empty() {
                return Err(mistakes.into_error(origin));
            }
        }
        match Self::read(SpecValue::root(&node, &mistakes), survey) {
            Some(spec) if mistakes.is_empty() => Ok(spec),
            _ => Err(mistakes.into_error(origin)),
        }
    }

    fn read(place: SpecValue<'_>, survey: TraceSurvey<'_>) -> Option<Self> {
        place.table("a workload", |fields| {
            let name = fields.required("name", |place| place.name());
            let description = fields.optional("description", String::new(), |place| place.text());
            let seed = fields.optional("seed", 0, |place| place.bits());
            let horizon_s = fields.optional("horizon_s", None, |place| place.number(SECONDS).map(Some));
            let requests = fields.optional("requests", None, |place| place.whole(REQUESTS).map(Some));
            let warmup_s = fields.optional("warmup_s", None, |place| place.number(WAIT).map(Some));
            let drain_s = fields.optional("drain_s", 60.0, |place| place.number(WAIT));
            let common = read_common(fields, seed, survey);
            let trace = match &common {
                Ok(arrival) => arrival.as_ref().and_then(ArrivalPattern::trace),
                Err(Mistaken { trace }) => trace.as_deref(),
            };
            let (classes, own): (Option<Vec<RequestClass>>, Option<Vec<_>>) =
                read_classes(fields, trace).map(|read| read.into_iter().unzip()).unzip();
            let arrival = common.ok().and_then(|common| {
                arrival_of(fields, common, classes.as_deref().unwrap_or_default(), own.unwrap_or_default())
            });
            let classes = classes.and_then(|classes| {
                let shares: Vec<f64> = classes.iter().map(|class| class.weight).collect();
                weights::positive_total(fields, "classes", &shares).map(|()| classes)
            });
            let replayed = arrival.as_ref().and_then(ArrivalPattern::trace);
            let tenants = Tenant::read_all(fields, classes.as_deref(), replayed);
            let models = fields.optional("models", None, |place| ModelMix::read(place).map(Some));
            let checks = GoldenCheck::read_all(fields);
            let check_every_s = fields.optional("check_every_s", None, |place| place.number(WAIT).map(Some));
            if let Some(Some(every_s)) = check_every_s
                && every_s > 0.0
                && every_s < SOONEST_CHECK_S
            {
                let sentence = format!(
                    "is {every_s}, and checks that often would be a load of their own; at least {SOONEST_CHECK_S}, or 0 for \
                     none under load"
                );
                fields.complain_of("check_every_s", &sentence);
            }
            if let (Some(Some(_)), Some([])) = (check_every_s, checks.as_deref()) {
                fields.complain_of("check_every_s", "is given and there are no `checks`; leave it out");
            }
            let (horizon_s, requests, arrival, warmup_s) = (horizon_s?, requests?, arrival?, warmup_s?);
            let whole = horizon_s.is_none() && requests.is_none();
            let recorded = arrival.found().and_then(|found| found.warmup_s).filter(|_| whole);
            let horizon_s = horizon_s.unwrap_or_else(|| arrival.found().map_or(60.0, |found| found.ends_s));
            let window = RunLength { horizon_s, requests, arrival: &arrival };
            let warmup_s = warmup_s.or(recorded).unwrap_or_else(|| window.usual_warmup_s());
            let known = arrival.trace().is_none_or(|trace| trace.found.is_some());
            if let Some(mistaken) = window.mistake(warmup_s).filter(|_| known) {
                fields.complain_of(mistaken.field, &mistaken.sentence);
            }
            Some(Self {
                name: name?,
                description: description?,
                seed: seed?,
                horizon_s,
                requests,
                warmup_s,
                drain_s: drain_s?,
                arrival,
                classes: classes?,
                tenants: tenants?,
                models: models?,
                checks: checks?,
                check_every_s: check_every_s?,
            })
        })
    }

    /// What a request of this class and priority is promised, and of this tenant where it has one: the tenant's SLO if
    /// that has one of its own.
    #[must_use]
    pub fn promise(&self, class: u16, priority: Priority, tenant: Option<u16>) -> Slo {
        let tenant = tenant.and_then(|tenant| self.tenants.get(usize::from(tenant)));
        if let Some(slo) = tenant.and_then(|tenant| tenant.slo) {
            return slo;
        }
        let class = self.classes.get(usize::from(class));
        let share = class.and_then(|class| class.priorities.iter().find(|share| share.priority == priority));
        share.map(|share| share.slo).unwrap_or_default()
    }

    /// How many requests come of an arrival, on average over the classes: the turns of conversations.
    #[must_use]
    pub fn mean_turns(&self) -> f64 {
        let share = |class: &RequestClass, place: usize| match &self.arrival {
            ArrivalPattern::ByClass { classes } => {
                classes.get(place).map_or(0.0, ArrivalPattern::mean_rate_per_s)
            }
            _ => class.weight,
        };
        let shares = || self.classes.iter().enumerate().map(|(place, class)| (share(class, place), class));
        let all: f64 = shares().map(|(share, _)| share).sum();
        shares().map(|(share, class)| share * class.mean_turns()).sum::<f64>() / all
    }

    pub(super) fn window(&self) -> RunLength<'_> {
        RunLength { horizon_s: self.horizon_s, requests: self.requests, arrival: &self.arrival }
    }
}

/// Something that was complained of.
struct Mistaken {
    /// Where a trace was meant, one that stands for it while the rest of the spec is read.
    trace: Option<Box<Trace>>,
}

impl Mistaken {
    fn beside(trace: Option<Trace>) -> Self {
        Self { trace: trace.map(Box::new) }
    }
}

/// The arrivals that all classes share, if any are given, or in their place a trace, which is read at once: the rest of
/// the spec depends on what is in it.
fn read_common(
    fields: &mut Fields<'_>,
    seed: Option<u64>,
    survey: TraceSurvey<'_>,
) -> Result<Option<ArrivalPattern>, Mistaken> {
    let trace = match fields.given("trace", Trace::read) {
        Given::Absent => None,
        Given::Right(trace) => Some(trace),
        Given::Wrong => return Err(Mistaken::beside(Some(Trace::whole("")))),
    };
    let given = fields.optional("arrival", None, |place| {
        if trace.is_some() {
            place.complain("is given beside `trace`, which says when requests arrive; leave one of them out");
            return None;
        }
        ArrivalPattern::read(place).map(Some)
    });
    let given = given.ok_or_else(|| Mistaken::beside(trace.clone()))?;
    let (field, mut arrival) = match trace {
        None => ("arrival", given),
        Some(trace) => ("trace", Some(ArrivalPattern::Trace(Box::new(trace)))),
    };
    if let Some(ArrivalPattern::Trace(trace)) = &mut arrival {
        let seed = seed.ok_or_else(|| Mistaken::beside(Some(Trace::clone(trace))))?;
        // The rest of the spec is read all the same, for its own mistakes.
        trace.found = survey(trace, seed)
            .map_err(|cause| fields.complain_of(field, &format!("cannot be replayed: {cause}")))
            .ok();
    }
    Ok(arrival)
}

/// The process shared by all classes, or those that each class has of its own.
///
/// All or none: a weight shares out one process, and beside a class with its own rate it would be a share of
/// something else.
fn arrival_of(
    fields: &mut Fields<'_>,
    common: Option<ArrivalPattern>,
    classes: &[RequestClass],
    own: Vec<Option<ArrivalPattern>>,
) -> Option<ArrivalPattern> {
    let arrival = if own.iter().all(Option::is_none) {
        match common {
            Some(common) => common,
            None => fields.required("arrival", ArrivalPattern::read)?,
        }
    } else {
        if common.is_some() {
            let sentence =
                "is given, and classes have arrivals of their own; keep one, or one for each class";
            fields.complain_of("arrival", sentence);
            return None;
        }
        ArrivalPattern::ByClass { classes: own.into_iter().collect::<Option<_>>().or_else(|| {
            let sentence = "have arrivals of their own or share the workload's, all of them; give one to each or none";
            fields.complain_of("classes", sentence);
            None
        })? }
    };
    let ArrivalPattern::ByClass { classes: processes } = &arrival else { return Some(arrival) };
    if !classes.is_empty() && processes.len() != classes.len() {
        let (processes, classes) = (processes.len(), classes.len());
        let sentence = format!("has {processes} processes for {classes} classes; give one for each");
        fields.complain_of("arrival", &sentence);
        return None;
    }
    if let Some(class) = classes.iter().find(|class| class.weight.to_bits() != 1.0_f64.to_bits()) {
        let sentence = format!(
            "have arrivals of their own, whose rates say how many requests each has; leave out the weight of \"{}\"",
            class.name
        );
        fields.complain_of("classes", &sentence);
        return None;
    }
    Some(arrival)
}

/// Where nobody reads traces: what is stored of one was found in it before.
pub(super) fn unread(trace: &mut Trace, _: u64) -> Result<TraceFindings, String> {
    trace.found.clone().ok_or_else(|| {
        format!("{} was not read; only a workload that is about to be run reads its trace", trace.path)
    })
}

/// A class and the arrival process that it has of its own.
type ReadClass = (RequestClass, Option<ArrivalPattern>);

/// The classes. A workload with a trace may leave them out, and has one for each kind of request of the trace.
fn read_classes(fields: &mut Fields<'_>, trace: Option<&Trace>) -> Option<Vec<ReadClass>> {
    let read = |place: SpecValue<'_>| read_list(place, trace);
    match trace {
        None => fields.required("classes", read),
        Some(trace) => {
            // Which kinds there are shows only once it was read.
            let usual = trace.found.is_some().then(|| RequestClass::of_trace(trace));
            let usual = usual.map(|classes| classes.into_iter().map(|class| (class, None)).collect());
            fields.given("classes", read).or(usual)
        }
    }
}

fn read_list(place: SpecValue<'_>, trace: Option<&Trace>) -> Option<Vec<ReadClass>> {
    let mut seen = Vec::new();
    place.list(|place| {
        place.own_name("class", &mut seen);
        RequestClass::read(place, trace)
    })
}

/// By the one reader that files go through too, so a stored spec is held to the same rules.
impl<'de> Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_value(value, "the stored workload").map_err(serde::de::Error::custom)
    }
}

impl WorkloadSpec {
    /// Whether there can be requests of this class: it has a share of them, or a trace that may name it.
    #[must_use]
    pub fn occurs(&self, class: &RequestClass) -> bool {
        class.weight > 0.0 || self.arrival.trace().is_some()
    }

    /// The tenants who send requests of this class; none where nobody tells tenants apart.
    pub fn senders(&self, class: &RequestClass) -> impl Iterator<Item = &Tenant> {
        self.tenants.iter().filter(|tenant| tenant.weight > 0.0 && tenant.sends(&class.name))
    }
}
