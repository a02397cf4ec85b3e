//! Counts of each of the last seconds of a run.

use std::collections::VecDeque;
use std::time::Duration;

/// Seconds kept: more than any terminal has columns.
const KEPT: usize = 400;

/// Counts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondCounts {
    /// Requests dispatched.
    pub released: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests failed.
    pub failed: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Requests waiting under the concurrency cap at its end.
    pub queued: u64,
    /// 99th percentile of the times to first token seen in it; `None` without samples.
    pub ttft_p99: Option<Duration>,
}

/// The last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    past: VecDeque<SecondCounts>,
    /// Their totals so far.
    counted: SecondCounts,
}

impl Timeline {
    /// Closes second `on` and the idle ones up to `next`. `totals` are those of the whole run.
    pub(super) fn close(&mut self, on: u64, next: u64, totals: &SecondCounts, ttft_p99: Option<Duration>) {
        let before = std::mem::replace(&mut self.counted, *totals);
        self.push(SecondCounts {
            released: totals.released - before.released,
            completed: totals.completed - before.completed,
            failed: totals.failed - before.failed,
            tokens: totals.tokens - before.tokens,
            ttft_p99,
            ..*totals
        });
        let idle =
            SecondCounts { in_flight: totals.in_flight, queued: totals.queued, ..SecondCounts::default() };
        for _ in (on + 1..next).take(KEPT) {
            self.push(idle);
        }
    }

    fn push(&mut self, second: SecondCounts) {
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back(second);
    }

    /// The complete seconds, oldest first; the last one is right before the current second.
    pub(super) fn past(&self) -> Vec<SecondCounts> {
        self.past.iter().copied().collect()
    }
}
