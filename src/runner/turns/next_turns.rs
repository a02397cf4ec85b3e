//! Decides what follows a turn that has ended, and keeps count of sessions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::mpsc;

use super::pacer;
use super::writer::{News, Writer};
use crate::clock::{RunClock, Timestamp};
use crate::engine::Engine;
use crate::generator::{ConversationBreak, PlannedRequest, PromptBuilder, SessionPlanner, TurnEnd};
use crate::record::{Outcome, Phase, RequestRecord, SessionCounts};
use crate::runner::options::Pacing;
use crate::runner::release::Released;
use crate::runner::request_run::Landed;

/// What follows the turns of a run.
#[derive(Debug)]
pub(in crate::runner) struct Sequels {
    sessions: SessionPlanner,
    writer: mpsc::UnboundedSender<News>,
    /// From this moment on nothing more is let go.
    until: Timestamp,
    counts: SessionCounts,
}

impl Sequels {
    /// Begins to write and to let go into `out`, until `until` or until `stop` is set.
    pub(in crate::runner) fn start<E: Engine>(
        (sessions, prompts): (SessionPlanner, Arc<PromptBuilder>),
        engine: Arc<E>,
        (pacing, clock): (Pacing, RunClock),
        until: Timestamp,
        stop: Arc<AtomicBool>,
        out: mpsc::UnboundedSender<Released>,
    ) -> Self {
        let (writer, news) = mpsc::unbounded_channel();
        pacer::start(pacing, Writer::new(engine, sessions.clone(), prompts), news, clock, stop, out);
        Self { sessions, writer, until, counts: SessionCounts::default() }
    }

    /// Takes note of a request that has been let go.
    pub(in crate::runner) fn released(&mut self, released: &mut Released) {
        let request = released.order.request;
        match request.turn {
            Some(turn) if turn.is_opener() => self.tell(News::Began(request, released.order.said.take())),
            Some(_) => self.counts.released(request.phase),
            None => {}
        }
    }

    /// Takes note of a request that has ended, and tells to which part of the run what follows it belongs, if anything
    /// follows. On the record of a turn after which its conversation had no more room stands so.
    pub(in crate::runner) fn ended(&mut self, last: PlannedRequest, landed: &mut Landed) -> Option<Phase> {
        last.turn?;
        let record = &mut landed.record;
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
        // Whoever counts tokens wants the words too.
        let kept = if self.sessions.goes_on(&last) { landed.kept.clone() } else { None };
        self.tell(News::Ended { last, kept, next });
        next.map(|next| next.phase)
    }

    fn tell(&self, news: News) {
        // The writer is there until this is dropped.
        let _ = self.writer.send(news);
    }

    /// What became of all sessions.
    pub(in crate::runner) fn counts(&self) -> SessionCounts {
        self.counts
    }
}

/// Tokens of an answer that the next turn says again: all but the reasoning, which clients leave out.
fn carried_on(record: &RequestRecord) -> u32 {
    let reasoning = record.usage.and_then(|usage| usage.reasoning_tokens).unwrap_or(0);
    u32::try_from(record.output_tokens.saturating_sub(reasoning)).unwrap_or(u32::MAX)
}
