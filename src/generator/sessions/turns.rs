//! The sessions of a run under way.

use super::{ConversationBreak, SessionPlanner};
use crate::clock::Timestamp;
use crate::generator::graph::Dependents;
use crate::generator::request::PlannedRequest;
use crate::record::{Outcome, RequestRecord, SessionCounts};

/// Sessions of a run with the counts of their turns.
#[derive(Debug)]
pub struct SessionTurns {
    /// Draws what follows.
    pub planner: SessionPlanner,
    /// Moment from which on nothing leaves: the drain limit, or never.
    until: Timestamp,
    /// The later turns so far, and conversations that ended early.
    pub counts: SessionCounts,
    /// Requests that wait for the ends of others.
    dependents: Dependents<PlannedRequest>,
}

impl SessionTurns {
    /// The sessions of a run that sends nothing from `until` on.
    pub fn new(planner: SessionPlanner, until: Timestamp) -> Self {
        Self { planner, until, counts: SessionCounts::default(), dependents: Dependents::default() }
    }

    /// Counts a dispatched request where it is a later turn.
    pub fn released(&mut self, request: &PlannedRequest) {
        if request.turn.is_some_and(|turn| !turn.is_opener()) {
            self.counts.released(request.phase);
        }
    }

    /// Notes the end of `last`, as `record` says it. This releases what waits for it: [`SessionTurns::next_released`].
    /// Marks the record of a turn after which its conversation had no more context. The next turn repeats the answer,
    /// but not what was reasoned before it.
    pub fn ended(&mut self, last: &PlannedRequest, record: &mut RequestRecord) {
        let repeated = || {
            let reasoning = record.usage.and_then(|usage| usage.reasoning()).unwrap_or(0);
            u32::try_from(record.output_tokens.saturating_sub(reasoning)).unwrap_or(u32::MAX)
        };
        let answered = (record.outcome == Outcome::Completed).then(repeated);
        let (next, broken) = self.planner.follower(last, answered);
        if let Some(broken) = broken {
            broken.count(&mut self.counts);
            record.context_full = matches!(broken, ConversationBreak::Full(_));
        }
        if answered.is_none() {
            self.counts.turns_not_reached += self.dependents.failed(last.index);
        }
        if let Some((next, release)) = next {
            self.dependents.add(next.index, next, &release);
        }
        self.dependents.ended(last.index, record.ended);
    }

    /// The next of the requests that ends have released, and that are sent.
    pub fn next_released(&mut self) -> Option<PlannedRequest> {
        loop {
            let (at, next) = self.dependents.pop()?;
            let next = Some(self.planner.at(next, at)).filter(|next| next.scheduled < self.until);
            if let Some(next) = next.and_then(|next| self.planner.counted(next)) {
                return Some(next);
            }
        }
    }

    /// End of the window, where the answers decided it and it is known.
    pub fn window_end(&self) -> Option<Timestamp> {
        self.planner.counted_end()
    }
}
