//! What a sweep's command line means, found free of mistakes before anything is sent.

use std::sync::Arc;

use super::args::{LoadArgs, SweepArgs};
use crate::analysis::{FigureKind, Objective, Quantile};
use crate::experiment::{Load, LoadAxis, Search, SearchStep, SweepPlan, TrialRequest};
use crate::generator::Datasets;
use crate::session::campaign::sweep::{
    MORE, SweepManifest, SweepStart, at_load, check_axis, pace_of_users, start_of_search,
};
use crate::session::run::{CheckedWorkload, RunContext};
use crate::session::settings::RunSettings;
use crate::session::{ExperimentDir, Interrupts, PlannedRun, Printer, ServerManifest, Stop, datasets};
use crate::workload::{Overrides, WorkloadSpec};

/// Requests that tell a mean.
const FOR_A_MEAN: u64 = 130;
/// Where the length and the load of its runs come from.
const TYPED: &str = "in a sweep the loads are those of --rates, --start-rate or --users, and no run is longer than --max-seconds";
/// A rate of an automatic search before it is known where that begins, requests per second.
const ANY_RATE: f64 = 1.0;

/// A sweep that can begin, as far as can be known before the server is asked.
pub(super) struct PlannedSweep {
    spec: WorkloadSpec,
    pub(super) datasets: Arc<Datasets>,
    settings: RunSettings,
    checked: CheckedWorkload,
    plan: SweepPlan,
    /// The run at the lowest load.
    lowest: PlannedRun,
    /// What was measured before the first run of the sweep that is resumed.
    start: SweepStart,
    /// Whether the rate is to be measured at which the search begins.
    finds_start: bool,
}

impl SweepArgs {
    pub(super) fn plan(&self, printer: Printer) -> Result<PlannedSweep, Stop> {
        let spec = self.workload.spec(&Overrides::default(), printer)?;
        let (spec, datasets) = datasets::open(spec, self.run.tokenizer.as_deref(), printer)?;
        let start = self.resume.as_deref().map(SweepStart::read).transpose()?.unwrap_or_default();
        let typed = self.loads.rates.as_ref().or(self.loads.users.as_ref()).cloned();
        let from_per_s = self.loads.start_rate.or(start.from_per_s);
        let finds_start = typed.is_none() && from_per_s.is_none();
        let search = LoadAxis::Automatic { from_per_s: from_per_s.unwrap_or(ANY_RATE) };
        let plan = self.search_plan(&spec, typed.unwrap_or(search));
        let lowest = self.check_loads(&spec, &plan, &datasets)?;
        let settings = self.settings()?;
        let checked = settings.check(&lowest.workload, &datasets)?;
        Ok(PlannedSweep { spec, datasets, settings, checked, plan, lowest, start, finds_start })
    }

    fn search_plan(&self, spec: &WorkloadSpec, axis: LoadAxis) -> SweepPlan {
        let LoadArgs { repeats, samples, max_seconds, bracket, max_runs, stop_after_saturated, .. } =
            self.loads;
        SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: self.objectives.clone(),
            repeats,
            samples: samples.unwrap_or_else(|| samples_for(&self.objectives)),
            shortest_s: self.workload.seconds(),
            longest_s: max_seconds.as_secs_f64(),
            fewest_users_per_s: None,
            precision: bracket,
            most_trials: max_runs,
            saturated_in_a_row: stop_after_saturated,
            first_seed: spec.seed,
        }
    }

    /// Finds what is wrong with the loads, and plans the run at the lowest.
    fn check_loads(
        &self,
        spec: &WorkloadSpec,
        plan: &SweepPlan,
        datasets: &Arc<Datasets>,
    ) -> Result<PlannedRun, Stop> {
        check_axis(spec, &plan.axis, "--users")?;
        let longest_s = plan.longest_s;
        if let Some(shortest_s) = plan.shortest_s.filter(|shortest_s| *shortest_s > longest_s) {
            return Err(Stop::usage(format!(
                "[seconds] is {shortest_s}, the shortest run, and --max-seconds, the longest, is {longest_s}\n\
                 hint: raise --max-seconds"
            )));
        }
        let search = Search::new(plan.clone()).map_err(Stop::usage)?;
        let SearchStep::Measure(lowest) = search.next() else {
            return Err(Stop::usage("there is no load to measure\nhint: name one with --rates"));
        };
        let highest = match &plan.axis {
            LoadAxis::List { rates_per_s } => rates_per_s.last().copied().map(Load::Rate),
            LoadAxis::Geometric { to_per_s, .. } => Some(Load::Rate(*to_per_s)),
            LoadAxis::Users { users } => users.last().copied().map(Load::Users),
            LoadAxis::Automatic { .. } => None,
        };
        let planned = |wanted: &TrialRequest| {
            at_load(spec, wanted).map_err(|stop| Stop::usage(format!("{}\nhint: {TYPED}", stop.message())))
        };
        if let Some(load) = highest {
            planned(&TrialRequest { load, ..lowest.clone() })?;
        }
        PlannedRun::alone(planned(&lowest)?, datasets, MORE)
    }
}

impl PlannedSweep {
    pub(super) fn connect(&self, interrupts: &Interrupts, printer: Printer) -> Result<RunContext, Stop> {
        let (datasets, checked) = (Arc::clone(&self.datasets), self.checked.clone());
        self.settings.connect(&self.lowest.workload, datasets, checked, interrupts, printer)
    }

    /// Warms the server, measures what decides the first run, and creates the sweep's folder or opens the one that is
    /// resumed; `None` where the user stopped it.
    pub(super) fn begin(
        &self,
        args: &SweepArgs,
        context: &RunContext,
    ) -> Result<Option<(SweepManifest, ExperimentDir)>, Stop> {
        let Self { spec, lowest, .. } = self;
        let warmup_requests = args.loads.warmup_requests;
        let mut manifest = self.manifest(args, context);
        let resumed =
            args.resume.as_deref().map(|folder| ExperimentDir::resume(folder, &manifest)).transpose()?;
        context.warm_server(&lowest.schedule, warmup_requests as usize);
        if self.finds_start {
            match start_of_search(context, lowest, warmup_requests)? {
                Some(from_per_s) => manifest.plan.axis = LoadAxis::Automatic { from_per_s },
                None => return Ok(None),
            }
        }
        if let (LoadAxis::Users { users }, None) = (&manifest.plan.axis, &resumed) {
            let fewest = users.first().copied().unwrap_or(1);
            match pace_of_users(fewest, context, spec, lowest)? {
                Some(per_s) => manifest.plan.fewest_users_per_s = Some(per_s),
                None => return Ok(None),
            }
        }
        let dir = if let Some(dir) = resumed {
            dir
        } else {
            let name = format!("{}-sweep", spec.name);
            ExperimentDir::create(&args.out, &name, &context.engine().engine, &manifest)?
        };
        Ok(Some((manifest, dir)))
    }

    fn manifest(&self, args: &SweepArgs, context: &RunContext) -> SweepManifest {
        let mut server = ServerManifest::of(&self.settings);
        // Another model may be the first that the server lists now.
        server.model = Some(context.engine().model.clone());
        SweepManifest {
            workload: self.spec.clone(),
            plan: SweepPlan { fewest_users_per_s: self.start.fewest_users_per_s, ..self.plan.clone() },
            server,
            warmup_requests: args.loads.warmup_requests,
            pause_s: args.loads.pause.as_secs_f64(),
            paired_open: args.loads.paired_open,
            sustain_s: args.loads.sustain.map(|length| length.as_secs_f64()),
        }
    }
}

/// What the figures of the objectives need; without any the p99s of the table.
fn samples_for(objectives: &[Objective]) -> u64 {
    let needed = objectives.iter().map(|objective| match (objective.key.kind(), objective.key.quantile()) {
        (FigureKind::Share, _) => Quantile::P99.floor(),
        (_, Some(quantile)) => quantile.floor().max(FOR_A_MEAN),
        (_, None) => FOR_A_MEAN,
    });
    needed.max().unwrap_or_else(|| Quantile::P99.floor())
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
