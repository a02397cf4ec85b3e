//! The attempts of a request that are under way, each with its answer.

use std::num::NonZeroU16;

use super::life::{RequestLife, Which};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEvent, Engine, PreparedRequest};

/// The answer to an attempt under way.
pub(super) struct LiveAnswer<A> {
    pub(super) answer: A,
    pub(super) headers: Option<Timestamp>,
    /// The place of the address that it was sent to. It is there where its server may have several.
    pub(super) address: Option<NonZeroU16>,
    /// The server that it was sent to.
    pub(super) target: u16,
}

impl<A: Answer> LiveAnswer<A> {
    /// Sends a request to the server that `engine` chooses for it.
    pub(super) fn begin<E: Engine<Answer = A>>(engine: &E, request: PreparedRequest, clock: RunClock) -> Self {
        let request = engine.routed(request);
        let target = request.target;
        Self { answer: engine.generate(request, clock), headers: None, address: None, target }
    }
}

/// The next event of an attempt under way, and of which.
pub(super) async fn next_event<A: Answer>(life: &mut RequestLife<'_, LiveAnswer<A>>) -> (Which, AnswerEvent) {
    match life.handles() {
        [Some(first), None] => (Which::First, first.answer.next().await),
        [Some(first), Some(hedge)] => tokio::select! {
            biased;
            event = first.answer.next() => (Which::First, event),
            event = hedge.answer.next() => (Which::Hedge, event),
        },
        [None, _] => std::future::pending().await,
    }
}
