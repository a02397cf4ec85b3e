//! Flies a table: variant by variant, row by row, run by run, all that has not been flown before.

use std::cell::RefCell;

use super::MatrixArgs;
use super::planned::{Places, PlannedCell};
use super::serving::Serving;
use super::show;
use crate::analysis::summarise;
use crate::cli::flight::{Field, Flown};
use crate::cli::series::PREFIX;
use crate::experiment::matrix::{
    CellRuns, Experiments, FailedBy, Matrix, MatrixStopped, RowRun, RunFailure, StopWhen, Unstopped,
};
use crate::record::RunEnding;
use crate::session::{Exit, Interrupts, PlannedRun, Printer, Shelf, Stop};

/// A table in flight.
pub(super) struct Flight<'a> {
    pub(super) args: &'a MatrixArgs,
    pub(super) experiments: &'a Experiments,
    pub(super) places: Places,
    pub(super) shelf: &'a Shelf,
    pub(super) interrupts: &'a Interrupts,
    pub(super) printer: Printer,
    /// Servers that were not ended, with the reasons.
    pub(super) unstopped: RefCell<Vec<Unstopped>>,
}

/// What comes after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next one.
    Row,
    /// Nothing: a person stopped it.
    End,
}

impl<'a> Flight<'a> {
    /// Flies all of `planned`. What fails under one variant leaves the others be.
    pub(super) fn all(&self, planned: Vec<PlannedCell>) -> Result<Matrix, Stop> {
        let usual = match self.args.only.as_slice() {
            [] => MatrixStopped::AllRun,
            rows => MatrixStopped::OnlySome { rows: rows.to_vec() },
        };
        let mut planned = planned.into_iter().peekable();
        let mut flown = Vec::new();
        // Why no more is flown, once that is so: the rest is read as far as it had been.
        let mut ending = None;
        while let Some(variant) = planned.peek().map(|cell| cell.slot.variant) {
            let mut rows = Vec::new();
            while let Some(cell) = planned.next_if(|cell| cell.slot.variant == variant) {
                rows.push(cell);
            }
            if ending.is_some() {
                rows.iter().try_for_each(|cell| self.read(cell, &mut flown))?;
                continue;
            }
            if self.variant(rows, &mut flown)? == Next::End {
                ending = Some(MatrixStopped::Interrupted);
                continue;
            }
            let matrix = self.keep(&flown, usual.clone())?;
            let accepted = matrix.decision.as_ref().and_then(|decision| {
                let first = decision.contract.stop_when == StopWhen::FirstAccepted;
                decision.accepted().filter(|_| first).map(|accepted| accepted.variant.clone())
            });
            if let (Some(variant), true) = (accepted, planned.peek().is_some()) {
                ending = Some(MatrixStopped::FirstAccepted { variant });
            }
        }
        self.keep(&flown, ending.unwrap_or(usual))
    }

    /// Writes down what is known so far, so that a later accident costs nothing.
    fn keep(&self, flown: &[CellRuns], stopped: MatrixStopped) -> Result<Matrix, Stop> {
        let matrix = Matrix::of(self.experiments, flown, stopped, self.args.trust());
        let matrix = Matrix { unstopped: self.unstopped.borrow().clone(), ..matrix };
        show::store(&matrix, self.shelf)?;
        Ok(matrix)
    }

    /// Flies the rows of one variant, whose server is started when the first run needs it, and stopped whatever came of
    /// them.
    fn variant(&self, rows: Vec<PlannedCell>, flown: &mut Vec<CellRuns>) -> Result<Next, Stop> {
        let mut serving = None;
        let outcome = self.rows(rows, &mut serving, flown);
        if let Some((variant, Err(stop))) = serving.map(|serving| (serving.variant(), serving.stop())) {
            self.printer.words(&format!("error: {}", stop.message()));
            let unstopped = Unstopped { variant: variant.to_owned(), why: first_line(&stop) };
            self.unstopped.borrow_mut().push(unstopped);
        }
        outcome
    }

    fn rows(
        &self,
        rows: Vec<PlannedCell>,
        serving: &mut Option<Serving<'a>>,
        flown: &mut Vec<CellRuns>,
    ) -> Result<Next, Stop> {
        let mut next = Next::Row;
        let mut lost: Option<RunFailure> = None;
        for cell in rows {
            if next == Next::End || !self.args.wants(&cell.row) {
                self.read(&cell, flown)?;
                continue;
            }
            let (slot, row) = (cell.slot, cell.row.clone());
            let mut runs = CellRuns { slot, runs: Vec::new(), failed: None };
            let outcome = match &lost {
                // What keeps the server from serving keeps it from serving the next row.
                Some(failure) => self.kept_only(&cell, &mut runs).map(|()| {
                    runs.failed = (runs.runs.len() < cell.runs.len()).then(|| failure.clone());
                    Next::Row
                }),
                None => self.cell(cell, serving, &mut runs),
            };
            match outcome {
                Ok(after) => next = after,
                Err(stop) if stop.exit() == Exit::Interrupted => next = Next::End,
                Err(stop) if stop.exit() == Exit::Invalid => {
                    self.printer.words(&format!("error: row {row}: {}", stop.message()));
                    let by = if stop.is_of_server() { FailedBy::Server } else { FailedBy::Client };
                    let failure = RunFailure { why: first_line(&stop), by };
                    let gone = serving.as_ref().is_none_or(|serving| !serving.has_served());
                    lost = gone.then(|| failure.clone());
                    runs.failed = Some(failure);
                }
                Err(stop) => return Err(stop),
            }
            if !runs.runs.is_empty() || runs.failed.is_some() {
                flown.push(runs);
                self.keep(flown, MatrixStopped::Interrupted)?;
            }
        }
        Ok(next)
    }

    /// Takes what had been flown of a row that is not flown now.
    fn read(&self, cell: &PlannedCell, flown: &mut Vec<CellRuns>) -> Result<(), Stop> {
        let mut runs = CellRuns { slot: cell.slot, runs: Vec::new(), failed: None };
        self.kept_only(cell, &mut runs)?;
        flown.extend((!runs.runs.is_empty()).then_some(runs));
        Ok(())
    }

    /// Reads what had been flown of a row.
    fn kept_only(&self, cell: &PlannedCell, runs: &mut CellRuns) -> Result<(), Stop> {
        for run in &cell.runs {
            runs.runs.extend(self.kept(cell, run)?);
        }
        Ok(())
    }

    /// Flies a row, or reads it where it had been flown.
    fn cell(
        &self,
        cell: PlannedCell,
        serving: &mut Option<Serving<'a>>,
        runs: &mut CellRuns,
    ) -> Result<Next, Stop> {
        self.kept_only(&cell, runs)?;
        let known: Vec<String> = runs.runs.iter().map(|run| run.folder.clone()).collect();
        let missing = cell.runs.iter().any(|run| !known.contains(&folder_of(&cell.folder, run)));
        if !missing {
            return Ok(Next::Row);
        }
        if self.interrupts.stop_is_wished() {
            return Ok(Next::End);
        }
        let PlannedCell { slot, row, folder, spec, datasets, runs: planned, checked, typed } = cell;
        let variant = &self.experiments.variants[slot.variant];
        let serving = if let Some(serving) = serving {
            serving
        } else {
            let about = Serving::about_to_start(variant, &typed.server, self.shelf, self.interrupts)?;
            let serving = serving.insert(about);
            serving.start(self.shelf, self.printer)?;
            serving
        };
        let setup = typed.setup(self.args);
        let field = setup.open_unless(
            &|| serving.in_vain(),
            &spec,
            datasets,
            checked,
            self.interrupts,
            self.printer,
        )?;
        serving.serves();
        self.places.fit(&field)?;
        let of = planned.len();
        for run in planned {
            let name = folder_of(&folder, &run);
            if known.contains(&name) {
                continue;
            }
            if self.interrupts.stop_is_wished() {
                return Ok(Next::End);
            }
            if serving.has_flown() {
                field.let_rest(self.args.pause);
            }
            if let Some(stop) = serving.in_vain() {
                return Err(stop);
            }
            serving.reset(&row)?;
            let part = self.say(&row, &variant.name, run.number(), of);
            serving.flies();
            let number = run.number();
            let (summary, whole) = self.fly(&field, run.shown_as(part), &name)?;
            if !whole {
                return Ok(Next::End);
            }
            let run = RowRun::of(name, summary);
            runs.runs.push(run.map_err(|gone| server_gone(number, &gone))?);
        }
        // In the order of their numbers, whichever of them had been flown before.
        runs.runs.sort_by_key(|run| run.summary.run.repeat.map(|repeat| repeat.number));
        Ok(Next::Row)
    }

    /// The run, if it had been flown to its end against a server that was there.
    fn kept(&self, cell: &PlannedCell, run: &PlannedRun) -> Result<Option<RowRun>, Stop> {
        let folder = folder_of(&cell.folder, run);
        let log = self.shelf.kept(&folder, &run.plan.hash)?;
        Ok(log.and_then(|log| RowRun::of(folder, summarise(&log, &cell.typed.objectives)).ok()))
    }

    /// What the run found, and whether it was flown to its end.
    fn fly(
        &self,
        field: &Field<'_>,
        run: PlannedRun,
        name: &str,
    ) -> Result<(crate::analysis::Summary, bool), Stop> {
        let number = run.number();
        let Flown { summary, stored, ending, .. } = field.fly(run, number, |_| self.shelf.place(name))?;
        stored?;
        Ok((summary, ending != RunEnding::Interrupted))
    }

    /// Says which run comes now, and gives the words.
    fn say(&self, row: &str, variant: &str, number: u64, of: usize) -> String {
        let under =
            if self.experiments.has_one_variant() { String::new() } else { format!(" under {variant}") };
        let which = if of > 1 { format!(", run {number} of {of}") } else { String::new() };
        let words = format!("row {row}{under}{which}");
        if !self.args.live.quiet {
            self.printer.words(&words);
        }
        words
    }
}

fn server_gone(run: u64, gone: &RunFailure) -> Stop {
    Stop::impossible(format!(
        "in run {run} the server was gone, or answered nothing: {}\nhint: look at its log, and go on with --resume, which flies the run again",
        gone.why
    ))
    .of_server()
}

/// What went wrong, without the hints.
fn first_line(stop: &Stop) -> String {
    stop.message().lines().next().unwrap_or_default().to_owned()
}

/// The folder of a run inside that of the table.
fn folder_of(cell: &str, run: &PlannedRun) -> String {
    format!("{cell}/{PREFIX}{}", run.number())
}
