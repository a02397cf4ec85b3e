//! What happened in each of the last seconds of a run.

use std::collections::VecDeque;
use std::time::Duration;

/// Seconds that are kept: more than any terminal has columns for.
const KEPT: usize = 400;

/// What happened in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests let go.
    pub released: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests failed.
    pub failed: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Requests that waited for a place under the concurrency cap at its end.
    pub queued: u64,
    /// 99th percentile of the times to first token that were seen in it; absent where there was none.
    pub ttft_p99: Option<Duration>,
}

/// The last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    past: VecDeque<Second>,
    /// What all of them came to.
    counted: Second,
}

impl Timeline {
    /// Second `on` is over, and so are those up to `next`, in which nothing happened. `totals` are of the whole run.
    pub(super) fn close(&mut self, on: u64, next: u64, totals: &Second, ttft_p99: Option<Duration>) {
        let before = std::mem::replace(&mut self.counted, *totals);
        self.push(Second {
            released: totals.released - before.released,
            completed: totals.completed - before.completed,
            failed: totals.failed - before.failed,
            tokens: totals.tokens - before.tokens,
            ttft_p99,
            ..*totals
        });
        let idle = Second { in_flight: totals.in_flight, queued: totals.queued, ..Second::default() };
        for _ in (on + 1..next).take(KEPT) {
            self.push(idle);
        }
    }

    fn push(&mut self, second: Second) {
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back(second);
    }

    /// The seconds that are over, oldest first; the last is the one before the second that is on.
    pub(super) fn past(&self) -> Vec<Second> {
        self.past.iter().copied().collect()
    }
}
