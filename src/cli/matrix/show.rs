//! Shows a table: its plan before it runs, and its result.

use std::time::Duration;

use super::MatrixArgs;
use crate::cli::outcome::{self, Format, Invalid};
use crate::cli::show::rendered;
use crate::experiment::matrix::{Experiments, Matrix, MatrixStopped, Trust};
use crate::report::Extent;
use crate::report::documents::{self, PlannedRow};
use crate::session::campaign::matrix::{FILES, PlannedCell};
use crate::session::{Exit, ExperimentDir, Printer, Stop, command_line};

/// The runs that a table has.
pub(super) fn plan(experiments: &Experiments, planned: &[PlannedCell]) -> Result<String, Stop> {
    let rows: Vec<PlannedRow> = planned
        .iter()
        .map(|cell| PlannedRow {
            slot: cell.slot,
            runs: cell.runs.len() as u64,
            load: cell.runs.iter().map(|run| Duration::from_nanos(run.plan.window_end.as_nanos())).sum(),
            requests: cell.runs.iter().map(|run| run.plan.warmup_requests + run.plan.measured_requests).sum(),
        })
        .collect();
    rendered(Format::Text(Extent::Full), || documents::matrix_plan(experiments, &rows), || Ok(String::new()))
}

/// Shows the table and says how it went.
pub(super) fn finish(
    args: &MatrixArgs,
    matrix: &Matrix,
    shelf: &ExperimentDir,
    printer: Printer,
) -> Result<Exit, Stop> {
    args.show.show(printer, |format| shown(matrix, format))?;
    let folder = shelf.folder().display().to_string();
    printer.words(&format!("saved to {folder} (the decision: {folder}/{})", FILES[2]));
    let again =
        |left_out: &[&str]| command_line::again(std::env::args_os(), left_out, &[("--resume", &folder)]);
    match &matrix.stopped {
        MatrixStopped::Interrupted => {
            printer.words(&format!("go on: {}", again(&[])));
            return Ok(Exit::Interrupted);
        }
        MatrixStopped::OnlySome { .. } => printer.words(&format!("the other rows: {}", again(&["--only"]))),
        MatrixStopped::AllRun | MatrixStopped::FirstAccepted { .. } => {
            printer.words(&format!("show it again: skyline report {folder}"));
        }
    }
    Ok(exit(matrix, args.trust()))
}

/// The table in the form asked for.
pub(in crate::cli) fn shown(matrix: &Matrix, format: Format) -> Result<String, Stop> {
    outcome::show(|| documents::matrix(matrix, None), matrix, format)
}

/// Which runs are believed.
pub(super) const fn trust(invalid: Invalid) -> Trust {
    match invalid {
        Invalid::Refused => Trust::ValidOnly,
        Invalid::Allowed => Trust::All,
    }
}

/// 3 before 1: a hypothesis that figures without belief refute says nothing.
pub(super) fn exit(matrix: &Matrix, trust: Trust) -> Exit {
    if matrix.stopped == MatrixStopped::Interrupted {
        return Exit::Interrupted;
    }
    let unbelieved = matrix.has_unbelievable_rows() && trust == Trust::ValidOnly;
    if matrix.has_failed_rows() || !matrix.unstopped.is_empty() || unbelieved {
        Exit::Invalid
    } else if matrix.is_as_hoped() {
        Exit::Fine
    } else {
        Exit::Missed
    }
}
