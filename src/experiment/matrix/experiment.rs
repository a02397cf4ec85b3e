//! A matrix as an experiment: variant by variant, row by row, repeat by repeat.

use super::result::{Matrix, MatrixStopped};
use super::runs::{CellRuns, RowRun};
use super::table::{Accept, Experiments, MatrixRow, MatrixSlot, StopWhen};
use crate::analysis::Summary;
use crate::experiment::driver::{
    Experiment, FailedBy, FailureReach, RunFailure, RunOutcome, RunRequest, RunSource, RunsLeft,
};
use crate::experiment::spoiled::{InvalidRuns, spoiled_by};
use crate::experiment::sweep::Trial;

/// A table of experiments under way.
#[derive(Clone, Debug)]
pub struct MatrixExperiment {
    experiments: Experiments,
    /// Names of the rows that are asked for; empty: all.
    only: Vec<String>,
    invalid: InvalidRuns,
    /// Every row under every variant, in the order in which they run.
    cells: Vec<CellRuns>,
    /// Place of the next run's cell.
    cell: usize,
    /// Number of the next run in its cell, from 1.
    repeat: u64,
    /// Reason why no more runs start, once that is so. What is stored of the rest is read.
    ending: Option<MatrixStopped>,
    /// Reason why the server of the present variant never served.
    unserved: Option<RunFailure>,
}

/// One run of a row under a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRun {
    /// The row and the variant.
    pub slot: MatrixSlot,
    /// Its number among the repeats of the row, from 1.
    pub repeat: u64,
    /// Number of repeats that are planned. A spare one has a number after the last of them.
    pub of: u64,
}

impl MatrixExperiment {
    /// All rows of `experiments`, of which no run is there yet.
    pub fn new(experiments: Experiments, invalid: InvalidRuns) -> Self {
        let cell = |slot| CellRuns { slot, runs: Vec::new(), failed: None };
        let cells = experiments.order().into_iter().map(cell).collect();
        let (only, ending, unserved) = (Vec::new(), None, None);
        Self { experiments, only, invalid, cells, cell: 0, repeat: 1, ending, unserved }
    }

    /// Returns the table's experiment with only `rows` to run. With none all run; of the others stored runs are read.
    #[must_use]
    pub fn only(self, rows: Vec<String>) -> Self {
        Self { only: rows, ..self }
    }

    fn row(&self, slot: MatrixSlot) -> &MatrixRow {
        &self.experiments.rows[slot.row]
    }

    /// Whether the row of this slot is asked for.
    pub(crate) fn wants(&self, slot: MatrixSlot) -> bool {
        self.only.is_empty() || self.only.contains(&self.row(slot).name)
    }

    /// Returns what the table is called that ran to its end.
    fn complete(&self) -> MatrixStopped {
        match self.only.as_slice() {
            [] => MatrixStopped::AllRun,
            rows => MatrixStopped::OnlySome { rows: rows.to_vec() },
        }
    }

    /// Goes on to the next run. It is in the next cell where this was the last of its own.
    fn advance(&mut self) {
        self.repeat += 1;
        let Some(slot) = self.cells.get(self.cell).map(|cell| cell.slot) else { return };
        let of = self.row(slot).repeats();
        if self.repeat <= InvalidRuns::LeftOut.last_run(of, self.cells[self.cell].spoiled()) {
            return;
        }
        let unserved = self.unserved.clone().filter(|_| self.ending.is_none() && self.wants(slot));
        let cell = &mut self.cells[self.cell];
        if cell.failed.is_none() && (cell.runs.len() as u64) < of {
            cell.failed = unserved;
        }
        (self.cell, self.repeat) = (self.cell + 1, 1);
        if self.cells.get(self.cell).is_none_or(|next| next.slot.variant != slot.variant) {
            self.unserved = None;
            self.stop_if_accepted();
        }
    }

    /// Ends the table after an accepted variant. That is so where one is enough and more would follow.
    fn stop_if_accepted(&mut self) {
        let first = |accept: &Accept| accept.stop_when == StopWhen::FirstAccepted;
        if self.ending.is_some()
            || self.cell >= self.cells.len()
            || !self.experiments.accept.as_ref().is_some_and(first)
        {
            return;
        }
        let decision = Matrix::new(&self.experiments, &self.cells, self.complete(), self.invalid).decision;
        let accepted = decision.as_ref().and_then(|decision| decision.accepted());
        self.ending = accepted.map(|accepted| MatrixStopped::FirstAccepted { variant: accepted.variant.clone() });
    }

    /// Whether a run of `cell` may be carried out, if the next one may.
    fn may_run(&self, cell: &CellRuns) -> bool {
        self.ending.is_none() && cell.failed.is_none() && self.wants(cell.slot)
    }

    /// Returns the number of the last run of `cell` that may be carried out. It is as far as that is known.
    fn last_new(&self, cell: &CellRuns) -> u64 {
        self.invalid.last_run(self.row(cell.slot).repeats(), cell.spoiled())
    }

    /// Returns how many runs of the row in `slot` are yet to come.
    pub(crate) fn left_in(&self, slot: MatrixSlot) -> u64 {
        let Some(place) = self.cells.iter().position(|cell| cell.slot == slot) else { return 0 };
        let over = if place == self.cell { self.repeat - 1 } else { 0 };
        let comes = place >= self.cell && self.may_run(&self.cells[place]);
        if comes { self.last_new(&self.cells[place]).saturating_sub(over) } else { 0 }
    }
}

impl Experiment for MatrixExperiment {
    type Part = MatrixRun;
    type Result = Matrix;

    // One row with a load that this machine cannot send must not end the others.
    const SPOILED: &str = "rows";

    fn next(&self) -> Option<RunRequest<MatrixRun>> {
        let cell = self.cells.get(self.cell)?;
        let (slot, repeat) = (cell.slot, self.repeat);
        let may_run = self.may_run(cell) && self.unserved.is_none() && repeat <= self.last_new(cell);
        let part = MatrixRun { slot, repeat, of: self.row(slot).repeats() };
        let source = if may_run { RunSource::StoredOrNew } else { RunSource::StoredOnly };
        Some(RunRequest { source, ..RunRequest::alone(self.experiments.run_folder(slot, repeat), repeat, part) })
    }

    fn record(&mut self, request: &RunRequest<MatrixRun>, outcome: RunOutcome) {
        let cell = &mut self.cells[self.cell];
        match outcome {
            RunOutcome::Completed(run) => match RowRun::new(request.name.clone(), *run.summary) {
                Ok(run) => cell.runs.push(run),
                Err(gone) => cell.failed = Some(server_gone(request.part.repeat, &gone)),
            },
            RunOutcome::Failed { failure, reach } => {
                self.unserved = (reach == FailureReach::Server).then(|| failure.clone());
                cell.failed = Some(failure);
            }
            // A row whose planned runs completed did run, although a spare one did not.
            RunOutcome::Refused(_) if request.part.repeat > request.part.of => {}
            RunOutcome::Refused(why) => cell.failed = Some(RunFailure { why, by: FailedBy::Client }),
            RunOutcome::Interrupted(_) => self.ending = Some(MatrixStopped::Interrupted),
            RunOutcome::Absent => {}
        }
        self.advance();
    }

    fn result(&self) -> Matrix {
        let over = self.cell >= self.cells.len();
        let ending = if over { self.complete() } else { MatrixStopped::Interrupted };
        let stopped = self.ending.clone().unwrap_or(ending);
        Matrix::new(&self.experiments, &self.cells, stopped, self.invalid)
    }

    fn remaining(&self) -> RunsLeft {
        RunsLeft::AtMost(self.cells.iter().map(|cell| self.left_in(cell.slot)).sum())
    }

    fn replacement(&self, request: &RunRequest<MatrixRun>) -> Option<String> {
        let MatrixRun { slot, repeat, of } = request.part;
        let cell = self.cells.get(self.cell).filter(|cell| cell.slot == slot && self.may_run(cell))?;
        let last = cell.runs.last().filter(|run| run.folder == request.name)?;
        let name = |number| self.experiments.run_folder(slot, number);
        self.invalid.replacement(repeat, of, cell.spoiled(), spoiled_by(&last.summary)?, name)
    }

    fn stays_spoiled(&self) -> bool {
        self.cells[self.cell].spoiled() == self.invalid.most_spare()
    }

    fn accepts_stored(&self, _request: &RunRequest<MatrixRun>, run: &Summary) -> bool {
        Trial::server_gone(run).is_none() && run.breaker.is_none()
    }
}

fn server_gone(run: u64, gone: &RunFailure) -> RunFailure {
    let why = format!("in run {run} the server was gone or answered nothing: {}", gone.why);
    RunFailure { why, by: gone.by }
}
