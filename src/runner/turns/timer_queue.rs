//! Requests sorted by their scheduled times, whatever the order they came in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::clock::Timestamp;
use crate::runner::release::ReadyRequest;

/// Requests by their scheduled times; of equal times the lowest index comes first.
#[derive(Debug, Default)]
pub(super) struct TimerQueue {
    next: BinaryHeap<Reverse<(Timestamp, u64)>>,
    requests: BTreeMap<u64, ReadyRequest>,
}

impl TimerQueue {
    pub(super) fn push(&mut self, ready: ReadyRequest) {
        self.next.push(Reverse((ready.request.scheduled, ready.request.index)));
        self.requests.insert(ready.request.index, ready);
    }

    /// The next scheduled time, if any.
    pub(super) fn moment(&self) -> Option<Timestamp> {
        self.next.peek().map(|Reverse((moment, _))| *moment)
    }

    /// Takes the next request out.
    pub(super) fn pop(&mut self) -> Option<ReadyRequest> {
        let Reverse((_, index)) = self.next.pop()?;
        self.requests.remove(&index)
    }
}
