//! The runs of a row under a variant.

use super::table::MatrixSlot;
use crate::analysis::Summary;
use crate::experiment::driver::{FailedBy, RunFailure};
use crate::experiment::spoiled::spoiled_by;
use crate::experiment::sweep::Trial;

/// A run that completed.
#[derive(Clone, Debug)]
pub struct RowRun {
    /// Its folder inside that of the table.
    pub folder: String,
    /// Its summary.
    pub summary: Summary,
}

impl RowRun {
    /// The run in `folder` with this summary.
    ///
    /// # Errors
    ///
    /// When its server was gone, so that it says nothing about the server's capacity.
    pub fn new(folder: String, summary: Summary) -> Result<Self, RunFailure> {
        match Trial::server_gone(&summary) {
            Some(why) => Err(RunFailure { why, by: FailedBy::Server }),
            None => Ok(Self { folder, summary }),
        }
    }
}

/// The runs of a row under a variant, as far as there are any.
#[derive(Clone, Debug)]
pub struct CellRuns {
    /// Row and variant of the runs.
    pub slot: MatrixSlot,
    /// The runs that completed.
    pub runs: Vec<RowRun>,
    /// Reason why no more could run, where something failed.
    pub failed: Option<RunFailure>,
}

impl CellRuns {
    /// Returns how many of its runs are spoiled.
    pub(super) fn spoiled(&self) -> u64 {
        self.runs.iter().filter(|run| spoiled_by(&run.summary).is_some()).count() as u64
    }
}
