//! The whole recipe of a run.

use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

use super::reading::value::{REQUESTS, SECONDS, WAIT};
use super::window::{RunLength, run_bounds};
use crate::workload::answer::golden::GoldenCheck;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::arrival::scenario::Scenario;
use crate::workload::class::mixes::{ModelMix, Tenant};
use crate::workload::class::request_class::RequestClass;
use crate::workload::class::slo::{Priority, Slo};
use crate::workload::clients::behaviour::ClientBehaviour;
use crate::workload::prompt::cache::CacheState;
use crate::workload::reading::weights::positive_total;
use crate::workload::reading::{
    Fields, Given, Mistakes, Node, SpecError, SpecValue, parse_json, parse_toml, read_whole, spec_table,
};
use crate::workload::trace::source::{Trace, TraceSurvey, unread};

/// Shortest interval between golden prompts under load, seconds.
const SOONEST_CHECK_S: f64 = 0.05;

spec_table! {
    /// A workload: which requests arrive, when, for how long.
    pub struct WorkloadSpec = "a workload" with(survey: TraceSurvey<'_>) {
        /// Name, used in reports and in the names of result folders. It has letters, digits, `_` and `-`.
        name: String = required(|value| value.name()),
        /// One or two sentences for `skyline workloads`; empty when the file gives none.
        description: String = optional(String::new(), |value| value.text()),
        /// Seed of every random stream of the schedule; 0 when the file gives none.
        seed: u64 = optional(0, |value| value.bits()),
        /// Seconds before which scheduled requests belong to the run. Later ones only keep the load up while the last
        /// of them finish. Default: 60, or the end of the slice of a replayed trace.
        horizon_s: f64 = option(|value| value.number(SECONDS)),
        /// Requests of the run, when given, instead of an end at `horizon_s`. The users of a closed loop send so many
        /// together. All of them count, but for those in a warm-up that is asked for.
        requests: Option<u64> = option(|value| value.whole(REQUESTS)),
        /// Requests scheduled in the first `warmup_s` seconds are sent but not counted. Default: the warm-up of the run
        /// that a trace was made from, else a tenth of the run and at most 30 s, which lets connections, caches and the
        /// number of requests in flight settle; 0 where `requests` is given.
        warmup_s: f64 = option(|value| value.number(WAIT)),
        /// Longest uncounted load after the window, while its last requests finish, seconds. Absent: as
        /// long as they take; where `requests` is given, not at all.
        cooldown_s: Option<f64> = option(|value| value.number(WAIT)),
        /// Wait after the horizon for running requests before they are censored, seconds. It is 60 by default.
        drain_s: f64 = optional(60.0, |value| value.number(WAIT)),
        /// When requests arrive: one process that the classes share by weight, or one per class.
        arrival: ArrivalPattern = arrival_or_trace(seed, survey),
        /// The kinds of request; at least one. In a replayed trace, a request belongs to the class with the name of its
        /// kind; a request of another kind, or of none, to any class, by their weights.
        classes: Vec<RequestClass> = classes(&mut arrival),
        /// State of the server's prefix cache when the window begins. Absent: as the classes say.
        cache: Option<CacheState> = option(|value| value.variant()),
        /// Longest time of the window in which nothing is in flight, seconds. After it the clock of the agents jumps to
        /// the next of their requests. Absent: as long as their pauses last.
        system_idle_cap_s: Option<f64> = option(|value| value.number(SECONDS)),
        /// The tenants; empty where requests have none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tenants: Vec<Tenant> = tenants(classes.as_deref(), arrival.as_ref().and_then(ArrivalPattern::trace)),
        /// The models that requests ask for; absent: the command line's, or the server's first.
        models: Option<ModelMix> = option(ModelMix::read),
        /// Behaviour of clients when an answer is late or refused. Where it is absent, they send each request once.
        clients: Option<ClientBehaviour> = option(ClientBehaviour::read),
        /// Golden prompts, asked before the run and under its load; none by default.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        checks: Vec<GoldenCheck> = checks(),
        /// Seconds between two checks under load, from the start of the window. The checks come in turn; 0: only before
        /// the run. Default: [`GoldenCheck::DEFAULT_EVERY_S`].
        check_every_s: Option<f64> = option(|value| value.number(WAIT)),
        /// Hardware that carries this load, such as `l40s`. The embedded mock models it unless the user names another.
        /// It changes nothing of the plan. Default: `h100`.
        mock_hardware: Option<String> = option(|value| value.name()),
        /// Scenario whose rules a report holds its runs to; none by default.
        scenario: Option<Scenario> = option(|value| value.variant()),
        /// Purpose of a run of it.
        #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
        purpose: Purpose = optional(Purpose::default(), |value| value.variant()),
    }
    check(fields) {
        if let Some(Some(every_s)) = check_every_s
            && every_s > 0.0
            && every_s < SOONEST_CHECK_S
        {
            let sentence = format!(
                "is {every_s}, and checks that often would be a load of their own; at least {SOONEST_CHECK_S}, or 0 \
                 for none under load"
            );
            fields.complain_of("check_every_s", &sentence);
        }
        if let (Some(Some(_)), Some([])) = (check_every_s, checks.as_deref()) {
            fields.complain_of("check_every_s", "is given and there are no `checks`; leave it out");
        }
        let (requests, arrival) = (Some(requests?), Some(arrival?));
        let (horizon_s, warmup_s) = run_bounds(fields, horizon_s?, requests?, warmup_s?, arrival.as_ref()?).unzip();
    }
}

/// The purpose of a run: what its verdict judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// Figures that can be relied on: every rule is asked.
    #[default]
    Measurement,
    /// Whether answers arrive: that none is lost, none is cut off and few fail. How long they took, and how
    /// late or busy the client was, is not judged, so that the run passes on a shared machine.
    Smoke,
}

impl WorkloadSpec {
    /// Reads TOML. `origin` names the text in errors, such as a path. A spec that replays a trace needs
    /// [`WorkloadSpec::from_toml_with`].
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_toml_with(text, origin, &unread)
    }

    /// Reads JSON; otherwise as [`WorkloadSpec::from_toml`].
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(parse_json(text), origin, None, &unread)
    }

    /// Reads TOML; `survey` reads the trace, if the spec has one.
    pub fn from_toml_with(text: &str, origin: &str, survey: TraceSurvey<'_>) -> Result<Self, SpecError> {
        Self::from_node(parse_toml(text), origin, None, survey)
    }

    /// Reads what [`Serialize`] wrote, or an equivalent; `survey` reads the trace, if it has one.
    pub(super) fn from_value(
        value: serde_json::Value,
        origin: &str,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        Self::from_node(Ok(Node::from(value)), origin, None, survey)
    }

    /// Reads a parsed text; relative paths begin at `folder`, if there is one.
    pub(super) fn from_node(
        node: Result<Node, Mistakes>,
        origin: &str,
        folder: Option<&Path>,
        survey: TraceSurvey<'_>,
    ) -> Result<Self, SpecError> {
        read_whole(node, origin, folder, |place| Self::read(place, survey))
    }

    /// Returns the SLO of a request of this class and priority. It is its tenant's own SLO if there is one.
    pub fn slo_of(&self, class: u16, priority: Priority, tenant: Option<u16>) -> Slo {
        let tenant = tenant.and_then(|tenant| self.tenants.get(usize::from(tenant)));
        if let Some(slo) = tenant.and_then(|tenant| tenant.slo) {
            return slo;
        }
        let class = self.classes.get(usize::from(class));
        let share = class.and_then(|class| class.priorities.iter().find(|share| share.priority == priority));
        share.map(|share| share.slo).unwrap_or_default()
    }

    pub(super) fn window(&self) -> RunLength<'_> {
        RunLength { horizon_s: self.horizon_s, requests: self.requests, arrival: &self.arrival }
    }

    /// Returns the seconds for which uncounted load may go on after the window. They are no longer than its answers are
    /// awaited.
    pub fn load_after_s(&self) -> f64 {
        let usual = if self.requests.is_some() { 0.0 } else { self.drain_s };
        self.cooldown_s.unwrap_or(usual).min(self.drain_s)
    }

    /// Returns whether users of a closed loop send so many requests together. The server then says when the window
    /// ends.
    pub fn ends_by_count(&self) -> bool {
        self.window().is_counted_loop()
    }

    /// Returns whether requests of this class can occur. It has a share, or a trace may name it.
    pub fn occurs(&self, class: &RequestClass) -> bool {
        class.weight > 0.0 || self.arrival.trace().is_some()
    }

    /// The tenants that send requests of this class; none where there are no tenants.
    pub fn senders(&self, class: &RequestClass) -> impl Iterator<Item = &Tenant> {
        self.tenants.iter().filter(|tenant| tenant.weight > 0.0 && tenant.sends(&class.name))
    }
}

impl Fields<'_> {
    /// Reads the arrivals that all classes share, or the trace. The trace's file is read at once: the rest of the spec
    /// depends on its content. Without either no class has a process yet. After a mistake in a trace one that was not
    /// read stands in, for the rest of the spec.
    fn arrival_or_trace(
        &mut self,
        name: &'static str,
        seed: Option<u64>,
        survey: TraceSurvey<'_>,
    ) -> Option<ArrivalPattern> {
        let trace = match self.given("trace", Trace::read) {
            Given::Absent => None,
            Given::Right(trace) => Some(Box::new(trace)),
            Given::Wrong => return Some(ArrivalPattern::Trace(Box::default())),
        };
        let given = self.option(name, |value| match &trace {
            Some(_) => value.reject("is given with `trace`, which says when requests arrive; leave one of them out"),
            None => ArrivalPattern::read_of_workload(value),
        });
        let (field, arrival) = match (trace, given) {
            (None, given) => (name, given?),
            (Some(trace), None) => return Some(ArrivalPattern::Trace(trace)),
            (Some(trace), Some(_)) => ("trace", Some(ArrivalPattern::Trace(trace))),
        };
        let mut arrival = arrival.unwrap_or(ArrivalPattern::ByClass { classes: Vec::new() });
        if let (ArrivalPattern::Trace(trace), Some(seed)) = (&mut arrival, seed) {
            // The rest of the spec is still read, for its own mistakes.
            trace.found = survey(trace, seed)
                .map_err(|cause| self.complain_of(field, &format!("cannot be replayed: {cause}")))
                .ok();
        }
        Some(arrival)
    }

    /// Reads the classes, and gives `arrival` the processes of those that have their own. A workload with a trace may
    /// leave them out and then has one per kind of request in the trace.
    fn classes(&mut self, name: &'static str, arrival: &mut Option<ArrivalPattern>) -> Option<Vec<RequestClass>> {
        let mut own = Vec::new();
        let trace = arrival.as_ref().and_then(ArrivalPattern::trace);
        let read = |value: SpecValue<'_>| value.named_list("class", |value| RequestClass::read(value, trace, &mut own));
        let classes = match trace {
            None => self.required(name, read),
            // The kinds are known only after the trace was read.
            Some(trace) => self.given(name, read).or(trace.found.is_some().then(|| RequestClass::of_trace(trace))),
        };
        if classes.is_none() {
            own.clear();
        }
        *arrival =
            arrival.take().and_then(|common| self.arrival_of(common, classes.as_deref().unwrap_or_default(), own));
        let classes = classes?;
        let shares: Vec<f64> = classes.iter().map(|class| class.weight).collect();
        positive_total(self, name, &shares).map(|()| classes)
    }

    /// The process that all classes share, or one per class.
    ///
    /// All classes have their own or none has: a weight divides one process, and beside a class with its own rate it
    /// would divide something else.
    fn arrival_of(
        &mut self,
        common: ArrivalPattern,
        classes: &[RequestClass],
        own: Vec<Option<ArrivalPattern>>,
    ) -> Option<ArrivalPattern> {
        let is_given = !matches!(&common, ArrivalPattern::ByClass { classes } if classes.is_empty());
        let arrival = if own.iter().all(Option::is_none) {
            if is_given { common } else { self.required("arrival", ArrivalPattern::read_of_workload)? }
        } else {
            if is_given {
                let sentence = "is given, and classes have arrivals of their own; keep one, or one for each class";
                return self.reject_of("arrival", sentence);
            }
            let Some(classes) = own.into_iter().collect() else {
                let sentence =
                    "have arrivals of their own or share the workload's, all of them; give one to each or none";
                return self.reject_of("classes", sentence);
            };
            ArrivalPattern::ByClass { classes }
        };
        let ArrivalPattern::ByClass { classes: processes } = &arrival else { return Some(arrival) };
        if !classes.is_empty() && processes.len() != classes.len() {
            let (processes, classes) = (processes.len(), classes.len());
            let sentence = format!("has {processes} processes for {classes} classes; give one for each");
            return self.reject_of("arrival", &sentence);
        }
        if let Some(class) = classes.iter().find(|class| class.weight.to_bits() != 1.0_f64.to_bits()) {
            let sentence = format!(
                "have arrivals of their own, whose rates say how many requests each has; leave out the weight of \
                 \"{}\"",
                class.name
            );
            return self.reject_of("classes", &sentence);
        }
        Some(arrival)
    }
}

/// Uses the reader of files too, so a stored spec obeys the same rules.
impl<'de> Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_value(value, "the stored workload", &unread).map_err(serde::de::Error::custom)
    }
}
