//! What a screen reads of a run.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::provisional::Lateness;
use crate::analysis::{Metric, Objective, Statistic};
use crate::clock::{RunClock, Timestamp};
use crate::record::{PlanFacts, RunHeader};
use crate::runner::{Progress, Snapshot};
use crate::workload::{Purpose, RequestClass, Slo, WorkloadSpec};

/// Further time that a run lasts of which nothing is known yet.
const UNKNOWN: Duration = Duration::from_secs(10);

/// A run that is shown live. The figures stay where they are counted; a screen only reads them.
#[derive(Clone, Debug)]
pub(crate) struct WatchedRun {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The engine and its model.
    pub(crate) server: String,
    /// The part of an experiment that this run is; `None` for a run by itself.
    pub(crate) part: Option<String>,
    /// Live counters.
    pub(crate) progress: Arc<Progress>,
    /// The run's clock.
    pub(crate) clock: RunClock,
    /// Facts of what is planned.
    pub(crate) plan: PlanFacts,
    /// Number of requests that end the run, where the server decides when that is.
    pub(crate) requests: Option<u64>,
    /// Requests that have planned times.
    pub(crate) paced: Paced,
    /// Whether it matters how late they leave.
    pub(crate) lateness: Lateness,
    /// Time at which it stops waiting for answers.
    pub(crate) drained: Timestamp,
    /// The objectives of the run.
    pub(crate) objectives: Vec<Objective>,
    /// Whether requests have an SLO.
    pub(crate) has_slo: bool,
    /// Bounds that latencies should not exceed, milliseconds.
    pub(crate) bounds: Vec<(Metric, f64)>,
    /// The time of day at which the load ends.
    pub(crate) load_ends: String,
}

/// Returns the bounds that latencies should not exceed, milliseconds. They are what objectives demand of percentiles of
/// all requests; of a latency without one, what the SLOs demand.
pub(super) fn bounds(workload: &WorkloadSpec, objectives: &[Objective]) -> Vec<(Metric, f64)> {
    type OfSlo = fn(&Slo) -> Option<f64>;
    let of_slo: [(Metric, OfSlo); 3] =
        [(Metric::Ttft, |slo| slo.ttft_ms), (Metric::Tpot, |slo| slo.tpot_ms), (Metric::E2e, |slo| slo.e2e_ms)];
    let mut bounds = Vec::new();
    for (metric, of_slo) in of_slo {
        let demanded = objectives.iter().filter(|objective| {
            let key = &objective.key;
            let of_all = key.part.is_none() && matches!(key.statistic, Some(Statistic::Percentile(_)));
            let is_upper = objective.comparison.is_upper();
            of_all && key.metric == metric && is_upper
        });
        let mut found: Vec<f64> = demanded.map(|objective| objective.bound).collect();
        if found.is_empty() {
            found = slos(workload).filter_map(|slo| of_slo(&slo)).collect();
        }
        bounds.extend(found.into_iter().map(|bound| (metric, bound)));
    }
    bounds
}

fn slos(workload: &WorkloadSpec) -> impl Iterator<Item = Slo> {
    let of_classes = workload.classes.iter().flat_map(|class| &class.priorities).map(|share| share.slo);
    of_classes.chain(workload.tenants.iter().filter_map(|tenant| tenant.slo))
}

/// Requests that leave at times that are known before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paced {
    /// Every request.
    Requests,
    /// The first request of each session; the others wait for answers.
    Sessions,
    /// None: users send the next request once the last is answered (closed loop).
    Nothing,
}

impl Paced {
    fn by(workload: &WorkloadSpec) -> Self {
        if workload.arrival.users().is_some() {
            Self::Nothing
        } else if workload.classes.iter().any(RequestClass::continues) {
            Self::Sessions
        } else {
            Self::Requests
        }
    }
}

fn lateness(workload: &WorkloadSpec) -> Lateness {
    if workload.arrival.users().is_some() || workload.purpose == Purpose::Smoke {
        Lateness::NotJudged
    } else {
        Lateness::Judged
    }
}

impl WatchedRun {
    /// Returns the watched run of `header`. Given are its part in an experiment, its objectives, counters and clock,
    /// and how long it waits for answers after its window.
    pub(crate) fn new(
        header: &RunHeader,
        (part, objectives): (Option<String>, &[Objective]),
        (progress, clock, drain): (Arc<Progress>, RunClock, Duration),
    ) -> Self {
        let (RunHeader { workload, plan, .. }, engine) = (header, header.engine());
        let load_ends = clock.started_at() + Duration::from_nanos(plan.window_end.as_nanos());
        Self {
            workload: workload.name.clone(),
            server: format!("{}, {}", engine.engine, engine.model),
            part,
            progress,
            clock,
            drained: plan.window_end.after(drain),
            plan: plan.clone(),
            requests: workload.requests.filter(|_| plan.is_open_ended()),
            paced: Paced::by(workload),
            lateness: lateness(workload),
            objectives: objectives.to_vec(),
            has_slo: slos(workload).any(|slo| !slo.is_empty()),
            bounds: bounds(workload, objectives),
            load_ends: load_ends.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string(),
        }
    }

    /// Returns when the load ends, by what is known at `now`. Where so many requests end it, it goes by how fast they
    /// have ended so far.
    pub(super) fn load_end(&self, now: Timestamp, snapshot: &Snapshot) -> Timestamp {
        let Some(requests) = self.requests else { return self.plan.window_end };
        match snapshot.completed + snapshot.failed {
            0 => now.after(UNKNOWN),
            ended => Timestamp::from_secs_f64(now.as_secs_f64() * requests.max(ended) as f64 / ended as f64),
        }
    }

    /// Returns the bounds that this latency should not exceed, smallest first.
    pub(super) fn bounds_of(&self, metric: Metric) -> Vec<f64> {
        let of_metric = self.bounds.iter().filter(|(other, _)| *other == metric);
        let mut bounds: Vec<f64> = of_metric.map(|(_, bound)| *bound).collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        bounds
    }

    /// The current time and the state at it.
    pub(super) fn look(&self) -> (Timestamp, Snapshot) {
        let now = self.clock.now();
        (now, self.progress.snapshot(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Overrides;

    #[test]
    fn a_smoke_run_and_a_closed_loop_may_be_late() {
        let chat = WorkloadSpec::load("short_chat").unwrap();
        let users = chat.clone().with(&Overrides { users: Some(4), ..Overrides::default() }).unwrap();
        let smoke = WorkloadSpec::load("smoke").unwrap();
        let found = [chat, users, smoke].map(|workload| lateness(&workload));
        assert_eq!(found, [Lateness::Judged, Lateness::NotJudged, Lateness::NotJudged]);
    }

    #[test]
    fn objectives_bound_latencies_and_slos_where_there_are_none() {
        let workload = WorkloadSpec::load("short_chat").unwrap();
        let of = |objectives: &[&str]| {
            let objectives: Vec<Objective> = objectives.iter().map(|text| text.parse().unwrap()).collect();
            bounds(&workload, &objectives)
        };
        assert_eq!(of(&[]), [(Metric::Ttft, 200.0), (Metric::Ttft, 500.0)]);
        // A mean, a part of the requests and a lower bound say nothing of percentiles of all.
        let others = ["mean ttft < 1s", "p99 ttft of chat < 1s", "p50 ttft > 1ms"];
        assert_eq!(of(&others), of(&[]));
        let both = of(&["p99 ttft < 300ms", "p95 e2e <= 2s"]);
        assert_eq!(both, [(Metric::Ttft, 300.0), (Metric::E2e, 2_000.0)]);
    }
}
