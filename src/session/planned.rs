//! Runs of a workload, drawn before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use crate::analysis::{ArrivalFigures, LoadForm, Status};
use crate::experiment::{repeats_of, seed_of_run};
use crate::generator::{self, Datasets, PlannedRequest, Schedule};
use crate::record::{PlanFacts, Repeat, Shard};
use crate::session::console::Stop;
use crate::workload::{ArrivalPattern, Trace, TraceFindings, WorkloadSpec};

/// Advice on how to give a run by itself more to measure, by its options.
const fn more(form: LoadForm) -> &'static str {
    match form {
        LoadForm::Open | LoadForm::PartlyOpen => "give it more seconds or a higher --rate (a trace: --rate-scale)",
        LoadForm::Closed => "give it more seconds or more --users",
        LoadForm::Lanes => "give it more seconds or more --agents",
    }
}

/// Most arrivals of a plan that are tested. More would say nothing new, and a run should begin at once.
const MOST_TESTED: usize = 100_000;

/// One run that is drawn and not yet executed.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRun {
    /// Its place among its repeats; absent for a run by itself.
    pub(crate) repeat: Option<Repeat>,
    /// The workload, with the run's own seed.
    pub(crate) workload: WorkloadSpec,
    /// The schedule that was drawn from it.
    pub(crate) schedule: Schedule,
    /// The facts of that.
    pub(crate) plan: PlanFacts,
    /// The whole that it is part of, and which part, in words. Absent for a run by itself.
    pub(crate) part: Option<String>,
}

impl PlannedRun {
    /// Plans `repeats` runs of `spec`, whose datasets are these. Each of the runs has something to measure.
    pub(crate) fn all(spec: &WorkloadSpec, datasets: &Arc<Datasets>, repeats: u64) -> Result<Vec<Self>, Stop> {
        let one = |(repeat, workload): (_, WorkloadSpec)| {
            // The seed decides what is left of a thinned trace, and where copies of one begin.
            let workload = match workload.seed {
                seed if seed == spec.seed => workload,
                seed => with_seed(workload, seed)?,
            };
            Self::drawn(repeat, Schedule::draw_from(&workload, Arc::clone(datasets)), workload, None)?.in_full()
        };
        repeats_of(spec, repeats).into_iter().map(one).collect()
    }

    /// Returns the run of this number, counted from 1. It is one of the `planned`, or a spare one after them, which
    /// differs from the first in its seed alone.
    pub(crate) fn numbered(planned: &[Self], number: u64) -> Result<Self, Stop> {
        let found = planned.get(number as usize - 1).or(planned.first());
        let run = found.ok_or_else(|| Stop::impossible("no run is planned"))?;
        if number <= planned.len() as u64 {
            return Ok(run.clone());
        }
        let seed = seed_of_run(run.workload.seed, number);
        let workload = with_seed(WorkloadSpec { seed, ..run.workload.clone() }, seed)?;
        let repeat = run.repeat.map(|repeat| Repeat { number, ..repeat });
        let spare = Self::drawn(repeat, run.schedule.of(&workload), workload, None)?.in_full()?;
        spare.check()?;
        Ok(spare)
    }

    /// Refuses planned runs whose plans are not as declared. If there may be spare ones after them, it refuses those
    /// too.
    pub(crate) fn check_all(planned: &[Self], may_spare: bool) -> Result<(), Stop> {
        planned.iter().try_for_each(Self::check)?;
        let last = planned.len() as u64;
        let spare = if may_spare { Repeat::MOST_SPARE } else { 0 };
        (last + 1..=last + spare).try_for_each(|number| Self::numbered(planned, number).map(drop))
    }

    /// Plans a run by itself of `workload`, whose datasets are these. Where it has nothing to measure, `cure` is what
    /// to change.
    pub(crate) fn alone(workload: WorkloadSpec, datasets: &Arc<Datasets>, cure: &str) -> Result<Self, Stop> {
        Self::drawn(None, Schedule::draw_from(&workload, Arc::clone(datasets)), workload, Some(cure))
    }

    /// A run by itself of `workload`, drawn from the datasets of `schedule`.
    pub(crate) fn like(schedule: &Schedule, workload: WorkloadSpec) -> Result<Self, Stop> {
        Self::drawn(None, schedule.of(&workload), workload, None)
    }

    /// Returns how long the load lasts, as far as it is planned. It is zero where the server decides it.
    pub(crate) fn length(&self) -> Duration {
        if self.plan.is_open_ended() {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.plan.window_end.as_nanos())
    }

    /// One generator's share of the run.
    pub(crate) fn share(self, shard: Shard) -> Result<Self, Stop> {
        let Self { repeat, workload, schedule, .. } = self;
        if let Some(cap_s) = workload.system_idle_cap_s {
            return Err(Stop::usage(format!(
                "`system_idle_cap_s` is {cap_s}, and one of several generators does not know when nothing is \
                 in flight\nhint: run it from one machine, or leave the cap out"
            )));
        }
        let schedule = schedule.shard(shard.number - 1, shard.of).map_err(Stop::usage)?;
        Self::drawn(repeat, schedule, workload, None)
    }

    /// The run of a schedule. Where it has nothing to measure, `cure` is what to change, else the options of a run by
    /// itself.
    fn drawn(
        repeat: Option<Repeat>,
        schedule: Schedule,
        workload: WorkloadSpec,
        cure: Option<&str>,
    ) -> Result<Self, Stop> {
        workload.check_run().map_err(Stop::usage)?;
        let plan = schedule.facts();
        // Users who began in the warm-up go on in the window.
        let goes_on = workload.arrival.users().is_some() && plan.warmup_requests > 0;
        if plan.measured_requests == 0 && !goes_on {
            return Err(Stop::usage(format!(
                "the plan of `{}` with seed {} has no request to measure\nhint: {}",
                workload.name,
                workload.seed,
                cure.unwrap_or_else(|| more(LoadForm::from_workload(&workload)))
            )));
        }
        Ok(Self { repeat, workload, schedule, plan, part: None })
    }

    /// Refuses a plan whose arrivals are very unlikely under the process that the workload declares.
    fn check(&self) -> Result<(), Stop> {
        let Self { workload, schedule, plan, .. } = self;
        let mut until = plan.window_end;
        let mut requests: Vec<_> = schedule
            .plan()
            .map(|request| (request.class, request.scheduled))
            .take_while(|&(_, moment)| moment < until)
            .take(MOST_TESTED + 1)
            .collect();
        if requests.len() > MOST_TESTED {
            until = requests.pop().map_or(until, |(_, moment)| moment);
        }
        let checks = ArrivalFigures::of_plan(workload, until, &requests).checks(&workload.arrival);
        match checks.into_iter().find(|check| check.outcome == Status::Missed) {
            None => Ok(()),
            Some(check) => Err(Stop::usage(format!(
                "the plan of `{}` with seed {} does not fit its declared process: {}\nhint: {}",
                workload.name, workload.seed, check.sentence, check.cure
            ))),
        }
    }

    /// Refuses a plan that has fewer requests than were asked for: its arrivals end before.
    fn in_full(self) -> Result<Self, Stop> {
        let drawn = self.plan.warmup_requests + self.plan.measured_requests;
        match self.workload.requests {
            Some(asked) if drawn < asked && !self.workload.ends_by_count() => Err(Stop::usage(format!(
                "the plan of `{}` with seed {} has {drawn} requests, and {asked} were requested: its arrivals end \
                 before\nhint: ask for fewer (--requests), raise the rate or take another --seed",
                self.workload.name, self.workload.seed
            ))),
            _ => Ok(self),
        }
    }
}

/// Returns the requests of a plan. Of users, of whom only the run tells how many they send, it returns the first
/// `of_users`.
pub(super) fn sample(
    schedule: &Schedule,
    plan: &PlanFacts,
    of_users: usize,
) -> Box<dyn Iterator<Item = PlannedRequest>> {
    match schedule.of_users() {
        Some(users) => Box::new(users.take(of_users)),
        None => Box::new(schedule.plan().take((plan.warmup_requests + plan.measured_requests) as usize)),
    }
}

/// Reads a trace for a workload.
pub(crate) fn survey(trace: &Trace, seed: u64) -> Result<TraceFindings, String> {
    trace.check()?;
    generator::survey(trace, seed).map_err(|error| error.to_string())
}

/// Returns the workload with what its trace holds under this seed. The seed decides what is left of a thinned trace.
pub(crate) fn with_seed(mut spec: WorkloadSpec, seed: u64) -> Result<WorkloadSpec, Stop> {
    if let ArrivalPattern::Trace(trace) = &mut spec.arrival {
        trace.found = Some(survey(trace, seed).map_err(Stop::usage)?);
        spec.seed = seed;
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::RateStage;

    /// A minute of 20 requests/s.
    fn run(arrival: &str) -> PlannedRun {
        let text = format!(
            r#"
name = "a_minute"
horizon_s = 60
warmup_s = 0
drain_s = 1
seed = 1
arrival = {{ kind = "{arrival}", rate_per_s = 20 }}
[[classes]]
name = "all"
input_tokens = {{ kind = "constant", value = 1 }}
output_tokens = {{ kind = "constant", value = 1 }}
"#
        );
        let spec = WorkloadSpec::from_toml(&text, "a test").unwrap();
        PlannedRun::alone(spec, &Arc::default(), "").unwrap()
    }

    #[test]
    fn a_spare_run_differs_from_the_first_in_its_seed_alone() {
        let spec = WorkloadSpec { seed: 7, ..run("poisson").workload };
        let hashes = |number| {
            let planned = PlannedRun::all(&spec, &Arc::default(), 3).unwrap();
            let spare = PlannedRun::numbered(&planned, number).unwrap();
            assert_eq!(spare.workload, WorkloadSpec { seed: seed_of_run(7, number), ..spec.clone() });
            assert_eq!(spare.repeat, Some(Repeat { number, of: 3, first_seed: 7 }));
            spare.plan.hash
        };
        // As the fourth and fifth of five would be.
        let five = PlannedRun::all(&spec, &Arc::default(), 5).unwrap();
        let five: Vec<_> = five.into_iter().map(|run| run.plan.hash).collect();
        assert_eq!((1..=5).map(hashes).collect::<Vec<_>>(), five);
        let alone = PlannedRun::all(&spec, &Arc::default(), 1).unwrap();
        assert_eq!(PlannedRun::numbered(&alone, 2).unwrap().repeat, None);
        assert!(PlannedRun::numbered(&[], 1).is_err());
    }

    #[test]
    fn a_mistake_in_a_spare_run_shows_before_the_first() {
        let mut planned = PlannedRun::all(&run("poisson").workload, &Arc::default(), 3).unwrap();
        assert!(PlannedRun::check_all(&planned, true).is_ok());
        // Spare runs are drawn from this, the planned ones have been.
        let first = &mut planned[0].workload;
        first.requests = Some(1_000_000);
        first.arrival =
            ArrivalPattern::Stages { stages: vec![RateStage::level(40.0, 20.0), RateStage::level(1.0, 0.0)] };
        let stop = PlannedRun::numbered(&planned, 4).unwrap_err();
        assert!(stop.message().contains("1000000 were requested"), "{}", stop.message());
    }

    #[test]
    fn a_plan_of_another_process_than_declared_is_refused() {
        let mut run = run("constant");
        assert!(run.check().is_ok());
        run.workload.arrival = ArrivalPattern::Poisson { rate_per_s: 20.0 };
        let stop = run.check().unwrap_err();
        let refusal = stop.message();
        assert!(refusal.contains("does not fit its declared process: ") && refusal.contains("hint: "), "{refusal}");
    }

    #[test]
    fn a_plan_of_the_process_declared_is_not() {
        assert!(run("poisson").check().is_ok());
    }
}
