//! Requests that prime the prefix cache before the window.

use serde::Serialize;

use crate::record::{Outcome, Phase, RecordRef, RunLog};
use crate::workload::CacheState;

/// Requests of the warm-up that put the histories of sessions into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PrimingFigures {
    /// Number of these requests.
    pub requests: u64,
    /// Number of them that had not been answered when the window began.
    pub late: u64,
}

impl PrimingFigures {
    /// Counts the requests that primed the cache in a run whose plan says so.
    pub(super) fn new(log: &RunLog) -> Option<Self> {
        let (workload, start) = (&log.header.workload, log.header.plan.window_start);
        let primed = || log.records.iter().filter(|record| record.phase == Phase::Warmup);
        let is_late = |record: &RecordRef<'_>| record.outcome != Outcome::Completed || record.ended > start;
        (workload.cache == Some(CacheState::Primed))
            .then(|| Self { requests: primed().count() as u64, late: primed().filter(is_late).count() as u64 })
    }
}
