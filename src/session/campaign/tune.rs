//! A tuning against the servers of its variants.

use std::sync::Arc;

use serde::Serialize;

use super::conduct::{Campaign, CampaignStep};
use super::dir::ServerManifest;
use super::serving::{Servers, check_finished};
use super::sweep::{at_load, counted_or_not, with_warm_up};
use crate::experiment::matrix::Variant;
use crate::experiment::tune::{Tune, TuneExperiment, TuneForecast, TuneRun, TuneRuns, TuneSpec};
use crate::experiment::{Experiment, Load, RunOutcome, RunRequest};
use crate::generator::Datasets;
use crate::session::console::{Printer, Stop};
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext, StoredRun};
use crate::units::{counted, percent, spoken, three_digits};
use crate::workload::WorkloadSpec;

/// Advice on how to give a run of a tuning more to measure.
pub(crate) const MORE: &str = "give its runs more time (--seconds), or begin at a higher `rate_per_s`";
/// A tuning that passes every check possible before a server is asked.
pub(crate) struct TunePlan {
    pub(crate) spec: TuneSpec,
    pub(crate) runs: TuneRuns,
    pub(crate) workload: WorkloadSpec,
    pub(crate) datasets: Arc<Datasets>,
    /// Every variant with how runs against it are executed.
    pub(crate) variants: Vec<(Variant, CheckedWorkload)>,
}

impl TunePlan {
    /// About the load of all runs, as of each variant at the first rate.
    pub(crate) fn load(&self) -> PlannedLoad {
        let takes = TuneForecast::whole(&self.spec, self.runs);
        let run_s = takes.load_s / takes.runs.max(1) as f64;
        let of = |(variant, checked): &(Variant, CheckedWorkload)| {
            let rate = self.runs.first_per_gpu * f64::from(variant.server.gpus.unwrap_or(1));
            let cap = checked.settings.requests.caps().max_concurrency;
            PlannedLoad::lasting(run_s, Load::Rate(rate), &self.workload, cap)
        };
        let mut load = self.variants.iter().map(of).reduce(PlannedLoad::and).unwrap_or_default();
        (load.about, load.rises) = (true, true);
        load.in_runs(takes.runs)
    }
}

/// All that decides which runs a tuning has.
#[derive(Serialize)]
pub(crate) struct TuneManifest {
    kind: &'static str,
    tune: TuneSpec,
    runs: TuneRuns,
    workload: WorkloadSpec,
    servers: Vec<ServerManifest>,
}

impl TuneManifest {
    /// The kind that the manifest of a tuning says it is.
    pub(crate) const KIND: &'static str = "tune";

    pub(crate) fn from_plan(plan: &TunePlan) -> Self {
        Self {
            kind: Self::KIND,
            tune: plan.spec.clone(),
            runs: plan.runs,
            workload: plan.workload.clone(),
            servers: plan
                .variants
                .iter()
                .map(|(_, checked)| ServerManifest::from_settings(&checked.settings))
                .collect(),
        }
    }
}

/// The runs of a tuning.
pub(crate) struct TuneCampaign<'a> {
    pub(crate) plan: &'a TunePlan,
    /// Printer of progress. Absent where none is shown.
    pub(crate) progress: Option<Printer>,
    pub(crate) servers: Servers<'a, usize>,
}

impl<'f> Campaign<TuneExperiment<'f>> for TuneCampaign<'_> {
    fn plan(&mut self, request: &RunRequest<TuneRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::alone(at_load(&self.plan.workload, &request.part.wanted)?, &self.plan.datasets, MORE)
    }

    fn objectives(&self, _request: &RunRequest<TuneRun>) -> &[crate::analysis::Objective] {
        &self.plan.spec.objectives
    }

    fn runs_left(&self, next: &CampaignStep<'_, TuneExperiment<'f>>, _run: &PlannedRun) -> String {
        let forecast = next.experiment.forecast();
        let left = spoken(forecast.lasting(next.pause));
        let starts = match forecast.starts {
            0 => String::new(),
            starts => format!(", and {} of a server", counted(starts, "start")),
        };
        format!("; about {} left, {left}{starts}", counted(forecast.runs, "run"))
    }

    fn resting(&self, _after: &RunRequest<TuneRun>) -> Option<&RunContext> {
        self.servers.context()
    }

    fn ready(&mut self, request: &RunRequest<TuneRun>) -> Result<&RunContext, Stop> {
        let place = request.part.candidate;
        let (variant, checked) = &self.plan.variants[place];
        self.servers.ready(place, variant, checked, &request.name, None)
    }

    fn title(&self, next: &CampaignStep<'_, TuneExperiment<'f>>, _run: &PlannedRun) -> Option<String> {
        let CampaignStep { request, experiment, .. } = next;
        let TuneRun { candidate, round, per_gpu, wanted } = &request.part;
        let best = experiment.best().map_or(String::new(), |(best, per_gpu)| {
            format!("; best so far {}, which met {}/s per GPU", best.name, three_digits(per_gpu))
        });
        Some(format!(
            "run {}, round {round}: {} at {}/s per GPU for {}{best}",
            wanted.number,
            experiment.candidates()[*candidate].name,
            three_digits(*per_gpu),
            with_warm_up(wanted.window_s, self.plan.runs.warmup_s)
        ))
    }

    fn finished(&mut self, request: &RunRequest<TuneRun>, run: &StoredRun) -> Result<(), Stop> {
        check_finished(request.number, run)
    }

    fn failed(&mut self, request: &RunRequest<TuneRun>, stop: Stop) -> Result<RunOutcome, Stop> {
        let place = request.part.candidate;
        let what = format!("variant {}", self.plan.variants[place].0.name);
        self.servers.failed(place, &what, stop)
    }

    fn recorded(&mut self, done: &CampaignStep<'_, TuneExperiment<'f>>) -> Result<(), Stop> {
        let CampaignStep { request, experiment, .. } = done;
        let last = experiment.last().filter(|trial| trial.number == request.number);
        if let (Some(printer), Some(trial)) = (self.progress, last) {
            let over = trial.over_share.zip(trial.tightest.as_ref());
            let over = over.map(|(over, of)| format!(", {} over the bound of {of}", percent(over)));
            let found = format!("{}{}", trial.side.word(), over.unwrap_or_default());
            let again = if trial.replaced { "; it runs again" } else { "" };
            printer.words(&format!("  {}{again}", counted_or_not(found, &trial.invalid, trial.counts())));
        }
        let place = request.part.candidate;
        if experiment.next().is_none_or(|next| next.part.candidate != place) {
            self.servers.stop();
        }
        Ok(())
    }

    fn found(&self, experiment: &TuneExperiment<'f>) -> Result<Option<Tune>, Stop> {
        Ok(Some(Tune { unstopped: self.servers.unstopped.clone(), ..experiment.result() }))
    }

    fn over(&mut self, _read: Option<u64>) {
        self.servers.stop();
    }
}
