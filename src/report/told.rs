//! What every writer of a run is told.

use super::Beside;
use crate::analysis::Summary;
use crate::record::RunLog;

/// A run, as those who write it down get it.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// What happened.
    pub log: &'a RunLog,
    /// What analysis found in it.
    pub summary: &'a Summary,
    /// What else there is to say.
    pub beside: Beside<'a>,
}
