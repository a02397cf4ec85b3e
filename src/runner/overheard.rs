//! An engine whose answers are overheard: what was kept of each goes to the keeper of the run, for judging.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::keeper::Item;
use crate::clock::RunClock;
use crate::engine::{Answer, AnswerEvent, Engine, PreparedRequest};
use crate::generator::RequestSpec;
use crate::record::FinishReason;

/// The same engine, overheard. What it tells, and when, is not changed.
#[derive(Debug)]
pub struct Overheard<E> {
    engine: Arc<E>,
    ear: Sender<Item>,
}

/// An answer that is overheard.
#[derive(Debug)]
pub struct OverheardAnswer<A> {
    answer: A,
    index: u64,
    ear: Sender<Item>,
}

impl<E> Overheard<E> {
    pub(super) fn new(engine: Arc<E>, ear: Sender<Item>) -> Self {
        Self { engine, ear }
    }
}

impl<E: Engine> Engine for Overheard<E> {
    type Answer = OverheardAnswer<E::Answer>;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        self.engine.prepare(request)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> Self::Answer {
        let index = request.index;
        OverheardAnswer { answer: self.engine.generate(request, clock), index, ear: self.ear.clone() }
    }

    async fn warm_up(&self, count: usize) {
        self.engine.warm_up(count).await;
    }
}

impl<A: Answer> OverheardAnswer<A> {
    fn hear(&self, event: &AnswerEvent) {
        if let AnswerEvent::Ended(end) = event
            && let Some(kept) = &end.kept
        {
            // Were the keeper gone, the end of the run would say so.
            let _ = self.ear.send(Item::Words { index: self.index, kept: kept.clone() });
        }
    }
}

impl<A: Answer> Answer for OverheardAnswer<A> {
    async fn next(&mut self) -> AnswerEvent {
        let event = self.answer.next().await;
        self.hear(&event);
        event
    }

    fn next_known(&mut self) -> Option<AnswerEvent> {
        let event = self.answer.next_known();
        if let Some(event) = &event {
            self.hear(event);
        }
        event
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        self.answer.finish_reason()
    }
}
