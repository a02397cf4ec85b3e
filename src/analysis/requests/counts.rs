//! Counts what became of every planned request.

use serde::Serialize;

use super::observed::Observed;
use crate::record::Outcome;

/// What became of the requests planned for the window.
///
/// `planned + unplanned = completed + failed + censored + never_due + unrecorded`, exactly: nothing is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestCounts {
    /// Requests scheduled in the window: those of the plan, and the later turns of sessions.
    pub planned: u64,
    /// Their answer came whole.
    pub completed: u64,
    /// They failed.
    pub failed: u64,
    /// They had not ended when the run stopped waiting.
    pub censored: u64,
    /// Their moment never came, because the run was stopped before it.
    pub never_due: u64,
    /// They left no record.
    pub unrecorded: u64,
    /// Records without a plan: doubles, or more than were planned. 0 in a sound log.
    pub unplanned: u64,
    /// Requests planned for the warm-up that left no record although their moment had come. 0 in a sound log.
    pub warmup_unrecorded: u64,
    /// Records of the warm-up without a plan. 0 in a sound log.
    pub warmup_unplanned: u64,
    /// Of those of the window that were recorded: requests that had to open their own connection.
    pub opened_connection: u64,
}

impl RequestCounts {
    pub(crate) fn of(observed: &Observed<'_>) -> Self {
        let mut counts = Self {
            planned: observed.planned(),
            never_due: observed.never_due,
            unrecorded: observed.unrecorded,
            unplanned: observed.unplanned,
            warmup_unrecorded: observed.warm_up.unrecorded,
            warmup_unplanned: observed.warm_up.unplanned,
            ..Self::default()
        };
        for record in observed.requests.iter().map(|request| request.record) {
            counts.opened_connection += u64::from(record.opened_connection);
            match record.outcome {
                Outcome::Completed => counts.completed += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::Censored => counts.censored += 1,
            }
        }
        counts
    }

    /// Requests whose moment came and that left a record.
    pub const fn executed(&self) -> u64 {
        self.completed + self.failed + self.censored
    }
}
