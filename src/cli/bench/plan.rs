//! Looks at a plan before anything of it is sent.

use crate::analysis::{ArrivalFigures, CheckOutcome};
use crate::cli::exit::Stop;
use crate::generator::Schedule;
use crate::record::PlanFacts;
use crate::workload::WorkloadSpec;

/// Most arrivals of a plan that are tested: more would say nothing new, and a run should begin at once.
const MOST: usize = 100_000;

/// Refuses a whole plan whose arrivals hardly ever come of the process that the workload declares.
pub(super) fn check(spec: &WorkloadSpec, schedule: &Schedule, facts: &PlanFacts) -> Result<(), Stop> {
    let mut until = facts.window_end;
    let mut moments: Vec<_> = schedule
        .plan()
        .map(|request| request.scheduled)
        .take_while(|&moment| moment < until)
        .take(MOST + 1)
        .collect();
    if moments.len() > MOST {
        until = moments.pop().unwrap_or(until);
    }
    let checks = ArrivalFigures::of_plan(&spec.arrival, until, &moments).checks(&spec.arrival);
    match checks.into_iter().find(|check| check.outcome == CheckOutcome::Failed) {
        None => Ok(()),
        Some(check) => Err(Stop::usage(format!(
            "the plan of `{}` with seed {} is not as it declares: {}\nhint: {}",
            spec.name, spec.seed, check.sentence, check.cure
        ))),
    }
}
