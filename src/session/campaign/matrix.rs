//! A table of experiments against the servers of its variants.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::dir::{ExperimentDir, ServerManifest};
use super::executor::{Campaign, place};
use super::serving::Serving;
use crate::analysis::Objective;
use crate::experiment::matrix::{
    Experiments, FailedBy, Matrix, MatrixExperiment, MatrixRun, MatrixSlot, RunFailure, Unstopped,
};
use crate::experiment::{Experiment, FailureReach, RunOutcome, RunRequest, Trial};
use crate::record::RunEnding;
use crate::report::render::{self, Extent};
use crate::report::{self, Style, documents};
use crate::session::command_line;
use crate::session::console::{Exit, Interrupts, Printer, Stop};
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, RunContext, StoredRun};
use crate::session::stored::save::PAGE;

/// The table for programs, for people, the decision record, and the page.
pub(crate) const FILES: [&str; 4] = ["matrix.json", "matrix.txt", "decision.md", PAGE];

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

/// A table that can be run, as far as can be known before a server is asked.
pub(crate) struct MatrixPlan {
    pub(crate) experiments: Experiments,
    /// Every row under every variant, in the order in which they run.
    pub(crate) cells: Vec<PlannedCell>,
    /// Whether variants have addresses of their own, so that a page of metrics of one is not about the others.
    pub(crate) several_addresses: bool,
}

/// All that decides which runs a table has.
#[derive(Serialize)]
pub(crate) struct MatrixManifest {
    experiments: Experiments,
    cells: BTreeMap<String, CellManifest>,
}

/// What is asked of a row under a variant, beyond what the file says.
#[derive(Serialize)]
struct CellManifest {
    plans: Vec<String>,
    server: ServerManifest,
}

impl MatrixManifest {
    pub(crate) fn of(plan: &MatrixPlan) -> Self {
        let cell = |cell: &PlannedCell| CellManifest {
            plans: cell.runs.iter().map(|run| run.plan.hash.clone()).collect(),
            server: ServerManifest::of(&cell.checked.settings),
        };
        let cells = plan.cells.iter().map(|planned| (planned.folder.clone(), cell(planned)));
        Self { experiments: plan.experiments.clone(), cells: cells.collect() }
    }
}

/// What a named page of metrics would count for.
pub(crate) const EVERY_VARIANT: &str = "every variant";

/// The runs of a table, and the server of the variant whose turn it is.
pub(crate) struct MatrixCampaign<'a> {
    plan: &'a MatrixPlan,
    dir: &'a ExperimentDir,
    interrupts: &'a Interrupts,
    printer: Printer,
    /// Time between two runs.
    pause: Duration,
    serving: Option<Serving<'a>>,
    /// The connection of the row whose turn it is.
    context: Option<(MatrixSlot, RunContext)>,
    /// Servers that could not be stopped.
    unstopped: Vec<Unstopped>,
}

impl<'a> MatrixCampaign<'a> {
    pub(crate) fn new(
        plan: &'a MatrixPlan,
        dir: &'a ExperimentDir,
        interrupts: &'a Interrupts,
        printer: Printer,
        pause: Duration,
    ) -> Self {
        let (serving, context, unstopped) = (None, None, Vec::new());
        Self { plan, dir, interrupts, printer, pause, serving, context, unstopped }
    }

    /// What the table says so far.
    pub(crate) fn result(&self, experiment: &MatrixExperiment) -> Matrix {
        Matrix { unstopped: self.unstopped.clone(), ..experiment.result() }
    }

    fn cell(&self, slot: MatrixSlot) -> Result<&PlannedCell, Stop> {
        let cell = self.plan.cells.iter().find(|cell| cell.slot == slot);
        cell.ok_or_else(|| Stop::impossible("a row is not planned"))
    }

    /// Starts the server of a variant, unless it serves already.
    fn serve(&mut self, slot: MatrixSlot) -> Result<(), Stop> {
        if self.serving.is_none() {
            let variant = &self.plan.experiments.variants[slot.variant];
            let settings = &self.cell(slot)?.checked.settings;
            let serving = Serving::about_to_start(variant, settings, self.dir, self.interrupts)?;
            self.serving.insert(serving).start(self.dir, self.printer)?;
        }
        Ok(())
    }

    /// Connects to the server for a row, unless that is done.
    fn connect(&mut self, slot: MatrixSlot) -> Result<(), Stop> {
        if self.context.as_ref().is_some_and(|(connected, _)| *connected == slot) {
            return Ok(());
        }
        self.context = None;
        let give_up = || self.serving.as_ref().and_then(Serving::in_vain);
        let checked = &self.cell(slot)?.checked;
        let context = checked.connect_unless(&give_up, self.interrupts, self.printer)?;
        if let Some(serving) = &mut self.serving {
            serving.serves();
        }
        if self.plan.several_addresses {
            context.check_pages(EVERY_VARIANT)?;
        }
        self.context = Some((slot, context));
        Ok(())
    }

    /// Stops the server of a variant whose runs are over.
    pub(crate) fn stop_serving(&mut self) {
        self.context = None;
        let Some(serving) = self.serving.take() else { return };
        let variant = serving.variant().to_owned();
        if let Err(stop) = serving.stop() {
            self.printer.words(&format!("error: {}", stop.message()));
            self.unstopped.push(Unstopped { variant, why: stop.first_line() });
        }
    }

    /// Whether no other row can be executed against the server: it never served, or has ended.
    fn reach(&self) -> FailureReach {
        let serves = self.serving.as_ref().is_some_and(Serving::has_served);
        if serves { FailureReach::Run } else { FailureReach::Server }
    }
}

impl Campaign<MatrixExperiment> for MatrixCampaign<'_> {
    fn plan(&mut self, request: &RunRequest<MatrixRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::numbered(&self.cell(request.part.slot)?.runs, request.part.repeat)
    }

    fn objectives(&self, request: &RunRequest<MatrixRun>) -> &[Objective] {
        self.cell(request.part.slot)
            .map(|cell| cell.checked.settings.objectives.as_slice())
            .unwrap_or_default()
    }

    fn pause(&self) -> Duration {
        self.pause
    }

    fn time_of(
        &self,
        _request: &RunRequest<MatrixRun>,
        _run: &PlannedRun,
        runs: u64,
        experiment: &MatrixExperiment,
    ) -> Duration {
        let left = |cell: &PlannedCell| experiment.left_in(cell.slot) as usize;
        // Runs of a row are equally long.
        let left = self.plan.cells.iter().flat_map(|cell| cell.runs.iter().cycle().take(left(cell)));
        left.take(runs as usize).map(|run| run.length() + self.pause).sum()
    }

    fn resting(&self, _after: &RunRequest<MatrixRun>) -> Option<&RunContext> {
        // Without a context the server is another one.
        self.context.as_ref().map(|(_, context)| context)
    }

    fn ready(&mut self, request: &RunRequest<MatrixRun>) -> Result<&RunContext, Stop> {
        let slot = request.part.slot;
        self.serve(slot)?;
        self.connect(slot)?;
        if let Some(serving) = &mut self.serving {
            if let Some(stop) = serving.in_vain() {
                return Err(stop);
            }
            serving.reset(&self.plan.experiments.rows[slot.row].name)?;
        }
        self.resting(request).ok_or_else(|| Stop::impossible("the server is not connected"))
    }

    fn title(
        &self,
        request: &RunRequest<MatrixRun>,
        _run: &PlannedRun,
        _experiment: &MatrixExperiment,
    ) -> Option<String> {
        let MatrixRun { slot, repeat, of } = request.part;
        let (row, variant) =
            (&self.plan.experiments.rows[slot.row], &self.plan.experiments.variants[slot.variant]);
        let under = if self.plan.experiments.has_one_variant() {
            String::new()
        } else {
            format!(" under {}", variant.name)
        };
        let which =
            if of.max(repeat) > 1 { format!(", {}", place("run", repeat, of)) } else { String::new() };
        Some(format!("row {}{under}{which}", row.name))
    }

    fn finished(&mut self, request: &RunRequest<MatrixRun>, run: &StoredRun) -> Result<(), Stop> {
        match Trial::server_gone(&run.run.summary) {
            None => run.run.summary.aborted().map_or(Ok(()), |aborted| {
                Err(Stop::impossible(format!(
                    "in run {}: {aborted}\nhint: look at the server's log, and continue with --resume, which runs it again",
                    request.part.repeat
                ))
                .of_server())
            }),
            // An interrupted run says nothing of its server.
            Some(_) if run.ending() == RunEnding::Interrupted => Ok(()),
            Some(why) => Err(Stop::impossible(format!(
                "in run {} the server was gone, or answered nothing: {why}\nhint: look at its log, and continue with \
                 --resume, which runs it again",
                request.part.repeat
            ))
            .of_server()),
        }
    }

    fn failed(&mut self, request: &RunRequest<MatrixRun>, stop: Stop) -> Result<RunOutcome, Stop> {
        // Once connected, what is refused is this row alone: its prompts are too long for the server, say.
        let of_row = self.context.as_ref().is_some_and(|(slot, _)| *slot == request.part.slot);
        match stop.exit() {
            Exit::Interrupted => Ok(RunOutcome::Interrupted(None)),
            exit if exit == Exit::Invalid || (exit == Exit::Usage && of_row) => {
                let row = &self.plan.experiments.rows[request.part.slot.row].name;
                self.printer.words(&format!("error: row {row}: {}", stop.message()));
                let by = if stop.is_of_server() { FailedBy::Server } else { FailedBy::Client };
                let failure = RunFailure { why: stop.first_line(), by };
                Ok(RunOutcome::Failed { failure, reach: self.reach() })
            }
            _ => {
                self.stop_serving();
                Err(stop)
            }
        }
    }

    fn recorded(
        &mut self,
        request: &RunRequest<MatrixRun>,
        experiment: &MatrixExperiment,
        dir: &ExperimentDir,
    ) -> Result<(), Stop> {
        let variant = request.part.slot.variant;
        let goes_on = matches!(experiment.next(), Some(next) if next.part.slot.variant == variant);
        if !goes_on {
            self.stop_serving();
        }
        store(&self.result(experiment), dir)
    }
}

/// Writes the files of a table.
pub(crate) fn store(matrix: &Matrix, dir: &ExperimentDir) -> Result<(), Stop> {
    let again = command_line::again(command_line::arguments(), &["--resume", "--only"], &[]);
    let document = documents::matrix(matrix, Some(&again));
    let texts = [
        report::json(matrix).map_err(Stop::impossible)?,
        render::text(&documents::matrix(matrix, None), Style::PLAIN, Extent::Full),
        render::markdown(&document),
        render::html(&document),
    ];
    FILES.into_iter().zip(texts).try_for_each(|(name, text)| dir.write(name, &text))
}
