//! Looks at a plan before anything of it is sent.

use crate::analysis::{ArrivalFigures, CheckOutcome};
use crate::generator::Schedule;
use crate::record::PlanFacts;
use crate::session::console::Stop;
use crate::session::planned::PlannedRun;
use crate::workload::WorkloadSpec;

/// Most arrivals of a plan that are tested: more would say nothing new, and a run should begin at once.
const MOST: usize = 100_000;

/// Refuses a plan whose arrivals are very unlikely under the process that the workload declares.
pub(crate) fn check_plan(run: &PlannedRun) -> Result<(), Stop> {
    check(&run.workload, &run.schedule, &run.plan)
}

fn check(spec: &WorkloadSpec, schedule: &Schedule, facts: &PlanFacts) -> Result<(), Stop> {
    let mut until = facts.window_end;
    let mut requests: Vec<_> = schedule
        .plan()
        .map(|request| (request.class, request.scheduled))
        .take_while(|&(_, moment)| moment < until)
        .take(MOST + 1)
        .collect();
    if requests.len() > MOST {
        until = requests.pop().map_or(until, |(_, moment)| moment);
    }
    let checks = ArrivalFigures::of_plan(spec, until, &requests).checks(&spec.arrival);
    match checks.into_iter().find(|check| check.outcome == CheckOutcome::Failed) {
        None => Ok(()),
        Some(check) => Err(Stop::usage(format!(
            "the plan of `{}` with seed {} is not as it declares: {}\nhint: {}",
            spec.name, spec.seed, check.sentence, check.cure
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ArrivalPattern;

    /// A minute of 20 requests/s.
    fn spec(arrival: &str) -> WorkloadSpec {
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
        WorkloadSpec::from_toml(&text, "a test").unwrap()
    }

    #[test]
    fn a_plan_of_another_process_than_declared_is_refused() {
        let mut spec = spec("constant");
        let schedule = Schedule::draw(&spec);
        assert!(check(&spec, &schedule, &schedule.facts()).is_ok());
        spec.arrival = ArrivalPattern::Poisson { rate_per_s: 20.0 };
        let stop = check(&spec, &schedule, &schedule.facts()).unwrap_err();
        let refusal = stop.message();
        assert!(refusal.contains("is not as it declares: ") && refusal.contains("hint: "), "{refusal}");
    }

    #[test]
    fn a_plan_of_the_process_declared_is_not() {
        let spec = spec("poisson");
        let schedule = Schedule::draw(&spec);
        assert!(check(&spec, &schedule, &schedule.facts()).is_ok());
    }
}
