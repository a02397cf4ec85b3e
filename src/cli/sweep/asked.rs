//! What is asked of a sweep: all that decides which runs it is made of, kept with it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::args::{LoadArgs, SweepArgs};
use crate::analysis::{FigureKey, Objective, Quantile, Statistic};
use crate::cli::flight::{AskedOfServer, Field};
use crate::experiment::{LoadAxis, SweepPlan};
use crate::session::{Shelf, Stop};
use crate::workload::WorkloadSpec;

/// Requests that tell a mean.
const FOR_A_MEAN: u64 = 130;

/// What was asked. The same, asked again, flies the same runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub(super) workload: WorkloadSpec,
    pub(super) plan: SweepPlan,
    pub(super) server: AskedOfServer,
    warmup_requests: u64,
    pause_s: f64,
    pub(super) paired_open: bool,
    pub(super) sustain_s: Option<f64>,
}

impl Asked {
    pub(super) fn of(
        args: &SweepArgs,
        spec: &WorkloadSpec,
        axis: LoadAxis,
        field: &Field<'_>,
    ) -> Result<Self, Stop> {
        let mut server = args.setup().asked()?;
        // Another model may be the first that the server lists now.
        server.model = Some(field.session.engine.facts().model.clone());
        Ok(Self {
            workload: spec.clone(),
            plan: plan(args, spec, axis),
            server,
            warmup_requests: args.loads.warmup_requests,
            pause_s: args.loads.pause.as_secs_f64(),
            paired_open: args.loads.paired_open,
            sustain_s: args.loads.sustain.map(|length| length.as_secs_f64()),
        })
    }
}

/// What the search is told of it.
pub(super) fn plan(args: &SweepArgs, spec: &WorkloadSpec, axis: LoadAxis) -> SweepPlan {
    let LoadArgs { repeats, samples, max_seconds, bracket, max_runs, stop_after_saturated, .. } = args.loads;
    SweepPlan {
        requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
        axis,
        objectives: args.objectives.iter().map(ToString::to_string).collect(),
        repeats,
        samples: samples.unwrap_or_else(|| samples_for(&args.objectives)),
        shortest_s: args.workload.seconds(),
        longest_s: max_seconds.as_secs_f64(),
        fewest_users_per_s: None,
        precision: bracket,
        most_trials: max_runs,
        saturated_in_a_row: stop_after_saturated,
        first_seed: spec.seed,
    }
}

/// What the figures of the objectives need; without any the p99s of the table.
fn samples_for(objectives: &[Objective]) -> u64 {
    let needed = objectives.iter().map(|objective| match objective.subject {
        FigureKey::Latency(Statistic::Percentile(quantile), _) => quantile.floor().max(FOR_A_MEAN),
        FigureKey::Latency(..) | FigureKey::Rate(_) => FOR_A_MEAN,
        FigureKey::Share(_) => Quantile::P99.floor(),
    });
    needed.max().unwrap_or_else(|| Quantile::P99.floor())
}

/// What was measured before the first run of a sweep, and decided its course.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    /// The rate at which the search began; absent where no search was asked for.
    pub(super) from_per_s: Option<f64>,
    /// How fast the fewest users were answered, requests per second; absent where no users were swept.
    pub(super) fewest_users_per_s: Option<f64>,
}

impl Begun {
    /// That of the sweep in `folder`.
    pub(super) fn of(folder: &Path) -> Result<Self, Stop> {
        let asked = Shelf::asked_in(folder)?;
        let number = |pointer| asked.pointer(pointer).and_then(Value::as_f64);
        Ok(Self {
            from_per_s: number("/plan/axis/from_per_s"),
            fewest_users_per_s: number("/plan/fewest_users_per_s"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_measures_what_its_highest_percentile_needs() {
        let needed =
            |texts: &[&str]| samples_for(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(needed(&[]), 662);
        assert_eq!(needed(&["p50 ttft < 1s", "mean tpot < 50ms"]), 130);
        assert_eq!(needed(&["p95 ttft < 1s", "p99.9 e2e < 9s"]), 6_636);
        assert_eq!(needed(&["error_rate < 1%"]), 662);
    }
}
