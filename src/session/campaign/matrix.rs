//! A table of experiments against the servers of its variants.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::conduct::{Campaign, CampaignStep, place};
use super::dir::ServerManifest;
use super::serving::{Servers, check_finished};
use crate::analysis::Objective;
use crate::experiment::matrix::{Experiments, Matrix, MatrixExperiment, MatrixRun, MatrixSlot};
use crate::experiment::{Experiment, RunOutcome, RunRequest};
use crate::session::console::Stop;
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, RunContext, StoredRun};

/// A row under a variant, ready to be executed.
pub(crate) struct PlannedCell {
    pub(crate) slot: MatrixSlot,
    /// Name of the row.
    pub(crate) row: String,
    /// Its folder inside that of the table.
    pub(crate) folder: String,
    pub(crate) checked: CheckedWorkload,
    pub(crate) runs: Vec<PlannedRun>,
}

/// A table that passes every check possible before a server is asked.
pub(crate) struct MatrixPlan {
    pub(crate) experiments: Experiments,
    /// Every row under every variant, in the order in which they run.
    pub(crate) cells: Vec<PlannedCell>,
    /// Whether variants have addresses of their own. A page of metrics of one is then not about the others.
    pub(crate) several_addresses: bool,
}

/// All that decides which runs a table has.
#[derive(Serialize)]
pub(crate) struct MatrixManifest {
    experiments: Experiments,
    cells: BTreeMap<String, CellManifest>,
}

/// The demands on a row under a variant, beyond what the file says.
#[derive(Serialize)]
struct CellManifest {
    plans: Vec<String>,
    server: ServerManifest,
}

impl MatrixManifest {
    pub(crate) fn from_plan(plan: &MatrixPlan) -> Self {
        let cell = |cell: &PlannedCell| CellManifest {
            plans: cell.runs.iter().map(|run| run.plan.hash.clone()).collect(),
            server: ServerManifest::from_settings(&cell.checked.settings),
        };
        let cells = plan.cells.iter().map(|planned| (planned.folder.clone(), cell(planned)));
        Self { experiments: plan.experiments.clone(), cells: cells.collect() }
    }
}

/// The variants that a named page of metrics would count for, in words.
pub(crate) const EVERY_VARIANT: &str = "every variant";

/// The runs of a table.
pub(crate) struct MatrixCampaign<'a> {
    pub(crate) plan: &'a MatrixPlan,
    pub(crate) servers: Servers<'a, MatrixSlot>,
}

impl<'a> MatrixCampaign<'a> {
    fn cell(&self, slot: MatrixSlot) -> Result<&'a PlannedCell, Stop> {
        let cell = self.plan.cells.iter().find(|cell| cell.slot == slot);
        cell.ok_or_else(|| Stop::impossible("a row is not planned"))
    }
}

impl Campaign<MatrixExperiment> for MatrixCampaign<'_> {
    fn plan(&mut self, request: &RunRequest<MatrixRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::numbered(&self.cell(request.part.slot)?.runs, request.part.repeat)
    }

    fn objectives(&self, request: &RunRequest<MatrixRun>) -> &[Objective] {
        self.cell(request.part.slot).map(|cell| cell.checked.settings.objectives.as_slice()).unwrap_or_default()
    }

    fn time_of(&self, next: &CampaignStep<'_, MatrixExperiment>, _run: &PlannedRun, runs: u64) -> Duration {
        let left = |cell: &PlannedCell| next.experiment.left_in(cell.slot) as usize;
        // Runs of a row are equally long.
        let left = self.plan.cells.iter().flat_map(|cell| cell.runs.iter().cycle().take(left(cell)));
        left.take(runs as usize).map(|run| run.length() + next.pause).sum()
    }

    fn resting(&self, _after: &RunRequest<MatrixRun>) -> Option<&RunContext> {
        // Without a context the server is another one.
        self.servers.context()
    }

    fn ready(&mut self, request: &RunRequest<MatrixRun>) -> Result<&RunContext, Stop> {
        let slot = request.part.slot;
        let checked = &self.cell(slot)?.checked;
        let MatrixPlan { experiments, several_addresses, .. } = self.plan;
        let (variant, row) = (&experiments.variants[slot.variant], &experiments.rows[slot.row].name);
        let pages = several_addresses.then_some(EVERY_VARIANT);
        self.servers.ready(slot, variant, checked, row, pages)
    }

    fn title(&self, next: &CampaignStep<'_, MatrixExperiment>, _run: &PlannedRun) -> Option<String> {
        let MatrixRun { slot, repeat, of } = next.request.part;
        let (row, variant) = (&self.plan.experiments.rows[slot.row], &self.plan.experiments.variants[slot.variant]);
        let under =
            if self.plan.experiments.has_one_variant() { String::new() } else { format!(" under {}", variant.name) };
        let which = if of.max(repeat) > 1 { format!(", {}", place("run", repeat, of)) } else { String::new() };
        Some(format!("row {}{under}{which}", row.name))
    }

    fn finished(&mut self, request: &RunRequest<MatrixRun>, run: &StoredRun) -> Result<(), Stop> {
        check_finished(request.part.repeat, run)?;
        run.run.summary.aborted().map_or(Ok(()), |aborted| {
            Err(Stop::impossible(format!(
                "in run {}: {aborted}\nhint: look at the server's log, and continue with --resume, which runs it again",
                request.part.repeat
            ))
            .of_server())
        })
    }

    fn failed(&mut self, request: &RunRequest<MatrixRun>, stop: Stop) -> Result<RunOutcome, Stop> {
        let slot = request.part.slot;
        let row = format!("row {}", self.plan.experiments.rows[slot.row].name);
        self.servers.failed(slot, &row, stop)
    }

    fn recorded(&mut self, done: &CampaignStep<'_, MatrixExperiment>) -> Result<(), Stop> {
        let variant = done.request.part.slot.variant;
        let goes_on = matches!(done.experiment.next(), Some(next) if next.part.slot.variant == variant);
        if !goes_on {
            self.servers.stop();
        }
        Ok(())
    }

    fn found(&self, experiment: &MatrixExperiment) -> Result<Option<Matrix>, Stop> {
        Ok(Some(Matrix { unstopped: self.servers.unstopped.clone(), ..experiment.result() }))
    }

    fn over(&mut self, _read: Option<u64>) {
        self.servers.stop();
    }
}
