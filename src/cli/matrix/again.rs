//! A table that was kept, judged again from the logs of its runs.

use std::path::Path;

use serde::Deserialize;

use super::show;
use crate::analysis::summarise;
use crate::cli::outcome::Invalid;
use crate::experiment::matrix::{CellRuns, Ended, Experiments, Matrix, MatrixSlot, RowRun};
use crate::session::campaign::matrix::FILES;
use crate::session::stored::completed;
use crate::session::{Exit, MANIFEST, Stop};

/// What was asked of it, as far as it is judged by that.
#[derive(Deserialize)]
struct Kept {
    experiments: serde_json::Value,
}

/// The table in `folder`, and its exit code.
pub(in crate::cli) fn read(folder: &Path, policy: Invalid) -> Result<(Matrix, Exit), Stop> {
    let unreadable = |file: &str, error: &dyn std::fmt::Display| {
        Stop::usage(format!(
            "cannot read {}: {error}\nhint: show one of its runs, such as row-A/run-1",
            folder.join(file).display()
        ))
    };
    let text =
        |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| unreadable(file, &error));
    let ended: Ended =
        serde_json::from_str(&text(FILES[0])?).map_err(|error| unreadable(FILES[0], &error))?;
    if ended.schema > Matrix::SCHEMA {
        let newer =
            format!("it has schema {}, and this Skyline reads up to {}", ended.schema, Matrix::SCHEMA);
        return Err(unreadable(FILES[0], &newer));
    }
    let kept: Kept = serde_json::from_str(&text(MANIFEST)?).map_err(|error| unreadable(MANIFEST, &error))?;
    let experiments =
        Experiments::from_stored(&kept.experiments).map_err(|error| unreadable(MANIFEST, &error))?;
    let mut cells = Vec::new();
    for slot in experiments.order() {
        let runs = CellRuns { slot, runs: runs(folder, &experiments, slot)?, failed: None };
        cells.extend(ended.completed(&experiments, slot, runs));
    }
    let matrix = Matrix::of(&experiments, &cells, ended.stopped, show::trust(policy));
    let matrix = Matrix { unstopped: ended.unstopped, ..matrix };
    let exit = show::exit(&matrix, show::trust(policy));
    Ok((matrix, exit))
}

/// The runs of a row that came to their end against a server that was there.
fn runs(folder: &Path, experiments: &Experiments, slot: MatrixSlot) -> Result<Vec<RowRun>, Stop> {
    let row = &experiments.rows[slot.row];
    let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
    let objectives = contract.map(|accept| accept.objectives.as_slice()).unwrap_or_default();
    let mut runs = Vec::new();
    for repeat in 1..=row.repeats() {
        let name = experiments.run_folder(slot, repeat);
        if let Some(log) = completed(&folder.join(&name))? {
            runs.extend(RowRun::of(name, summarise(&log, objectives)).ok());
        }
    }
    Ok(runs)
}
