//! The sessions of a run under way.

use super::{ConversationBreak, SessionPlanner, TurnEnd};
use crate::clock::Timestamp;
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
}

impl SessionTurns {
    /// The sessions of a run that sends nothing from `until` on.
    pub fn new(planner: SessionPlanner, until: Timestamp) -> Self {
        Self { planner, until, counts: SessionCounts::default() }
    }

    /// Counts a dispatched request where it is a later turn.
    pub fn released(&mut self, request: &PlannedRequest) {
        if request.turn.is_some_and(|turn| !turn.is_opener()) {
            self.counts.released(request.phase);
        }
    }

    /// The request that follows `last`, which ended as `record` says. Marks the record of a turn after which its
    /// conversation had no more context. The next turn repeats the answer, but not what was reasoned before it.
    pub fn ended(&mut self, last: &PlannedRequest, record: &mut RequestRecord) -> Option<PlannedRequest> {
        let repeated = || {
            let reasoning = record.usage.and_then(|usage| usage.reasoning()).unwrap_or(0);
            u32::try_from(record.output_tokens.saturating_sub(reasoning)).unwrap_or(u32::MAX)
        };
        let answered = (record.outcome == Outcome::Completed).then(repeated);
        let (next, broken) = self.planner.after(last, TurnEnd { at: record.ended, answered });
        if let Some(broken) = broken {
            broken.count(&mut self.counts);
            record.context_full = matches!(broken, ConversationBreak::Full(_));
        }
        self.planner.counted(next.filter(|next| next.scheduled < self.until)?)
    }

    /// End of the window, where the answers decided it and it is known.
    pub fn window_end(&self) -> Option<Timestamp> {
        self.planner.counted_end()
    }
}
