//! Decides what follows a turn that has ended, and counts sessions.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::pacer;
use super::writer::{TurnEvent, TurnWriter};
use crate::clock::{Pacing, Timestamp};
use crate::engine::{CapturedText, Engine};
use crate::generator::{PlannedRequest, PromptBuilder, SessionPlanner, SessionTurns};
use crate::record::{Outcome, Phase};
use crate::runner::pacer::{DispatchedRequest, Outlet};
use crate::runner::request_run::FinishedRequest;

/// Schedules the next turns of sessions.
pub(crate) struct NextTurns {
    pub(crate) sessions: SessionTurns,
    writer: mpsc::UnboundedSender<TurnEvent>,
    /// Requests of sessions that have just begun, which are awaited and not counted yet.
    begun: u64,
}

impl NextTurns {
    /// Starts to write turns and to dispatch them. It goes on until `until` or until the outlet is stopped.
    pub(crate) fn start<E: Engine>(
        (sessions, prompts): (SessionPlanner, Arc<PromptBuilder>),
        engine: Arc<E>,
        pacing: Pacing,
        until: Timestamp,
        outlet: Outlet,
    ) -> io::Result<Self> {
        let (writer, events) = mpsc::unbounded_channel();
        pacer::start(pacing, TurnWriter::new(engine, sessions.clone(), prompts), events, outlet)?;
        Ok(Self { sessions: SessionTurns::new(sessions, until), writer, begun: 0 })
    }

    /// Notes a request that was dispatched.
    pub(crate) fn released(&mut self, released: &mut DispatchedRequest) {
        let request = released.ready.request;
        self.sessions.released(&request);
        if request.turn.is_some_and(|turn| turn.is_opener()) {
            let next: Vec<_> = std::iter::from_fn(|| self.sessions.next_released()).collect();
            self.begun += awaited(&next);
            self.announce(TurnEvent::Began(request, released.ready.said.take(), next));
        }
    }

    /// Says in the record of a request what released it.
    pub(crate) fn mark(&self, request: &PlannedRequest, finished: &mut FinishedRequest) {
        self.sessions.mark(request, &mut finished.record);
    }

    /// Notes the end of a request and returns how many more are awaited. They were released by it or by the begin of a
    /// session; none are where sessions do not go on. Marks the record of a turn after which the context is full.
    pub(crate) fn ended(&mut self, last: PlannedRequest, finished: &mut FinishedRequest, goes_on: bool) -> u64 {
        if last.turn.is_none() || !goes_on {
            self.mark(&last, finished);
            return 0;
        }
        self.sessions.ended(&last, &mut finished.record);
        // Whoever counts tokens needs the text too.
        let captured = if self.sessions.has_next_turn(&last) { finished.captured.clone() } else { None };
        let is_empty = |text: &CapturedText| {
            let mut text = text.read();
            text.content.is_empty() && text.take_whole_calls().is_empty()
        };
        let mut next: Vec<_> = std::iter::from_fn(|| self.sessions.next_released()).collect();
        // Of a graph those that repeat it may wait for others too.
        let repeats = !next.is_empty() || last.turn.is_some_and(|turn| turn.graph.is_some());
        let is_repeated = repeats && captured.as_ref().is_some_and(is_empty);
        self.sessions.counts.empty_answers += u64::from(is_repeated);
        let is_over = next.is_empty() && !self.sessions.is_open(last.session());
        let record = &finished.record;
        let (moved, sooner, more) = self.sessions.catch_up(record.ended);
        next.extend(sooner);
        let awaited = awaited(&next) + more + std::mem::take(&mut self.begun);
        let is_last_word = record.outcome == Outcome::Completed && !record.calls_tools();
        self.announce(TurnEvent::Ended { last, captured, is_last_word, next, is_over });
        if !moved.is_empty() {
            self.announce(TurnEvent::Moved(moved));
        }
        awaited
    }

    fn announce(&self, event: TurnEvent) {
        // The writer lives until this is dropped.
        let _ = self.writer.send(event);
    }
}

/// Number of these for which a run waits.
fn awaited(next: &[PlannedRequest]) -> u64 {
    next.iter().filter(|next| next.phase != Phase::Cooldown).count() as u64
}
