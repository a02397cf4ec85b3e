//! The attempts of a request that are under way, each with its answer.

use super::life::{RequestLife, Which};
use crate::clock::Timestamp;
use crate::engine::{Answer, AnswerEvent};

/// The life of a request whose attempts have such answers.
pub(super) type AnswerLife<'a, A> = RequestLife<'a, LiveAnswer<A>>;

/// The answer to an attempt under way.
pub(super) struct LiveAnswer<A> {
    pub(super) answer: A,
    pub(super) headers: Option<Timestamp>,
}

/// The next event of an attempt under way, and of which.
pub(super) async fn next_event<A: Answer>(life: &mut AnswerLife<'_, A>) -> (Which, AnswerEvent) {
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
