//! Requests that prime the prefix cache before the window.

use serde::Serialize;

use super::tokens::{history, prompt_tokens, was_looked_up};
use crate::record::{Outcome, Phase, RecordRef, RequestRecord, RunLog};
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
        let primed = || log.records.iter().filter(|record| primes(log, record));
        let is_late = |record: &RecordRef<'_>| record.outcome != Outcome::Completed || record.ended > start;
        (workload.cache == Some(CacheState::Primed))
            .then(|| Self { requests: primed().count() as u64, late: primed().filter(is_late).count() as u64 })
    }
}

/// Whether a request only primes the cache. Where a cache is primed, all of the warm-up do.
pub(super) fn primes(log: &RunLog, record: &RequestRecord) -> bool {
    record.phase == Phase::Warmup && log.header.workload.cache == Some(CacheState::Primed)
}

/// Tokens that the requests which primed the cache found in it, and looked up. Where the server does not report what
/// they found, it is what the plan says. A `template` is added to each prompt.
pub(super) fn looked_up(log: &RunLog, template: u64, block: u64) -> (u64, u64) {
    let primed = log.records.iter().filter(|record| primes(log, record) && was_looked_up(record));
    primed.fold((0, 0), |(hits, queries), record| {
        let planned = || record.turn().map_or(0, |turn| history(&record, &turn, block));
        let found = record.usage.and_then(|usage| usage.cached()).unwrap_or_else(planned);
        (hits + found, queries + prompt_tokens(&record, template))
    })
}
