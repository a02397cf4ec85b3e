//! How a stored table ended, which its logs do not record.

use serde::Deserialize;

use super::cell::CellRuns;
use super::decision::MatrixStopped;
use super::result::Unstopped;
use super::table::{Experiments, MatrixSlot};
use crate::experiment::driver::{FailedBy, RunFailure};

/// How a table ended, from `matrix.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Ended {
    /// Version of the file's format.
    pub schema: u32,
    cells: Vec<EndedCell>,
    /// Why no more runs were started.
    pub stopped: MatrixStopped,
    /// Servers that could not be stopped after their rows.
    #[serde(default)]
    pub unstopped: Vec<Unstopped>,
}

/// What kept a row from running.
#[derive(Clone, Debug, Deserialize)]
struct EndedCell {
    row: String,
    variant: String,
    failed: Option<String>,
    #[serde(default)]
    failed_by: Option<FailedBy>,
}

impl Ended {
    /// Adds to `runs`, the stored ones of the row in `slot`, why there are no more; `None` where the row never began.
    pub fn completed(&self, experiments: &Experiments, slot: MatrixSlot, runs: CellRuns) -> Option<CellRuns> {
        let (row, variant) = (&experiments.rows[slot.row].name, &experiments.variants[slot.variant].name);
        let ended = self.cells.iter().find(|cell| cell.row == *row && cell.variant == *variant);
        let failed = ended.and_then(|cell| {
            let by = cell.failed_by.unwrap_or(FailedBy::Server);
            Some(RunFailure { why: cell.failed.clone()?, by })
        });
        (failed.is_some() || !runs.runs.is_empty()).then_some(CellRuns { failed, ..runs })
    }
}
