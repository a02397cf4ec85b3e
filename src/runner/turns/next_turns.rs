//! Decides what follows a turn that has ended, and counts sessions.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::pacer;
use super::writer::{TurnEvent, TurnWriter};
use crate::clock::{Pacing, Timestamp};
use crate::engine::{CapturedText, Engine};
use crate::generator::{ConversationBreak, PlannedRequest, PromptBuilder, SessionPlanner, TurnEnd};
use crate::record::{Outcome, Phase, RequestRecord, SessionCounts};
use crate::runner::pacer::{DispatchedRequest, Outlet};
use crate::runner::request_run::FinishedRequest;

/// Schedules the next turns of sessions.
pub(crate) struct NextTurns {
    sessions: SessionPlanner,
    writer: mpsc::UnboundedSender<TurnEvent>,
    /// No turn is dispatched from this time on.
    until: Timestamp,
    /// Counts of all sessions.
    pub(crate) counts: SessionCounts,
}

impl NextTurns {
    /// Starts to write turns and to dispatch them, until `until` or until the outlet is stopped.
    pub(crate) fn start<E: Engine>(
        (sessions, prompts): (SessionPlanner, Arc<PromptBuilder>),
        engine: Arc<E>,
        pacing: Pacing,
        until: Timestamp,
        outlet: Outlet,
    ) -> io::Result<Self> {
        let (writer, events) = mpsc::unbounded_channel();
        pacer::start(pacing, TurnWriter::new(engine, sessions.clone(), prompts), events, outlet)?;
        Ok(Self { sessions, writer, until, counts: SessionCounts::default() })
    }

    /// Notes a request that was dispatched.
    pub(crate) fn released(&mut self, released: &mut DispatchedRequest) {
        let request = released.ready.request;
        match request.turn {
            Some(turn) if turn.is_opener() => {
                self.announce(TurnEvent::Began(request, released.ready.said.take()));
            }
            Some(_) => self.counts.released(request.phase),
            None => {}
        }
    }

    /// Notes a request that has ended and returns the phase of the turn that follows it, if one follows.
    /// Marks the record of a turn after which the context is full.
    pub(crate) fn ended(&mut self, last: PlannedRequest, finished: &mut FinishedRequest) -> Option<Phase> {
        last.turn?;
        let record = &mut finished.record;
        let end = TurnEnd {
            at: record.ended,
            answered: (record.outcome == Outcome::Completed).then(|| carried_on(record)),
        };
        let sequel = self.sessions.after(&last, end);
        if let Some(broken) = sequel.broken {
            broken.count(&mut self.counts);
            record.context_full = matches!(broken, ConversationBreak::Full(_));
        }
        let next = sequel.next.filter(|next| next.scheduled < self.until);
        let next = next.and_then(|next| self.sessions.counted(next));
        // Whoever counts tokens needs the text too.
        let captured = if self.sessions.has_next_turn(&last) { finished.captured.clone() } else { None };
        let is_empty = |text: &CapturedText| text.read().content.is_empty();
        self.counts.empty_answers += u64::from(next.is_some() && captured.as_ref().is_some_and(is_empty));
        self.announce(TurnEvent::Ended { last, captured, next });
        next.map(|next| next.phase)
    }

    /// The end of the window, where the answers decided it and it is known.
    pub(crate) fn window_end(&self) -> Option<Timestamp> {
        self.sessions.counted_end()
    }

    fn announce(&self, event: TurnEvent) {
        // The writer lives until this is dropped.
        let _ = self.writer.send(event);
    }
}

/// Tokens of an answer that the next turn repeats: all but the reasoning, which clients leave out.
fn carried_on(record: &RequestRecord) -> u32 {
    let reasoning = record.usage.and_then(|usage| usage.reasoning()).unwrap_or(0);
    u32::try_from(record.output_tokens.saturating_sub(reasoning)).unwrap_or(u32::MAX)
}
