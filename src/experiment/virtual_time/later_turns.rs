//! The later turns of a virtual run's sessions, each due a think time after the end of the one before.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::generator::{ConversationBreak, PlannedRequest, SessionPlanner, TurnEnd};
use crate::record::{Outcome, Phase, RequestRecord, SessionCounts, Turn};

/// The turns that are known and not yet sent.
#[derive(Debug)]
pub(super) struct LaterTurns {
    /// Draws the turns; absent where there are no sessions.
    sessions: Option<SessionPlanner>,
    /// By moment, then by index.
    due: BTreeMap<(Timestamp, u64), PlannedRequest>,
    counts: SessionCounts,
}

impl LaterTurns {
    pub(super) fn new(sessions: Option<SessionPlanner>) -> Self {
        Self { sessions, due: BTreeMap::new(), counts: SessionCounts::default() }
    }

    /// When the next one leaves.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next one, if it leaves by `now`.
    pub(super) fn next_by(&mut self, now: Timestamp) -> Option<PlannedRequest> {
        self.next_due().filter(|at| *at <= now)?;
        let (_, request) = self.due.pop_first()?;
        self.counts.released(request.phase);
        Some(request)
    }

    /// Schedules the turn that follows a request that has ended, and returns the phase to which it belongs. Marks the
    /// record of a turn after which its conversation had no more context.
    pub(super) fn follow(&mut self, last: &PlannedRequest, record: &mut RequestRecord) -> Option<Phase> {
        let answered = (record.outcome == Outcome::Completed).then_some(record.output_tokens as u32);
        let sequel = self.sessions.as_ref()?.after(last, TurnEnd { at: record.ended, answered });
        if let Some(broken) = sequel.broken {
            broken.count(&mut self.counts);
            record.context_full = matches!(broken, ConversationBreak::Full(_));
        }
        let next = sequel.next?;
        self.due.insert((next.scheduled, next.index), next);
        Some(next.phase)
    }

    /// The place of a request in a conversation of several turns, where it has one.
    pub(super) fn conversation_of(&self, request: &PlannedRequest) -> Option<Turn> {
        let goes_on = self.sessions.as_ref()?.has_next_turn(request);
        request.turn.filter(|turn| goes_on || turn.place() > 0)
    }

    /// Counts of the sessions; absent where there are none.
    pub(super) fn counts(&self) -> Option<SessionCounts> {
        self.sessions.as_ref().map(|_| self.counts)
    }
}
