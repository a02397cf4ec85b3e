//! The attempts of a request that are under way at a time: one, and its hedge.

use crate::clock::Timestamp;
use crate::engine::{Answer, AnswerEvent};
use crate::record::{Attempt, AttemptEnd, AttemptKind, FailureKind};

/// One attempt, and a second, identical one where the first is hedged.
pub(super) struct Racers<A> {
    pub(super) first: Racer<A>,
    hedge: Option<Racer<A>>,
}

/// An attempt with its answer.
pub(super) struct Racer<A> {
    pub(super) answer: A,
    pub(super) attempt: RunningAttempt,
}

/// What is known of an attempt before an answer decides which attempt is the request's.
#[derive(Clone, Copy)]
pub(super) struct RunningAttempt {
    pub(super) kind: AttemptKind,
    pub(super) begun: Timestamp,
    pub(super) sent: Option<Timestamp>,
    pub(super) headers: Option<Timestamp>,
}

/// One of two attempts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    First,
    Hedge,
}

impl RunningAttempt {
    pub(super) fn new(kind: AttemptKind, begun: Timestamp) -> Self {
        Self { kind, begun, sent: None, headers: None }
    }

    /// The attempt, which has ended.
    pub(super) fn ended(self, ended: Timestamp, end: AttemptEnd) -> Attempt {
        let Self { kind, begun, sent, .. } = self;
        Attempt { kind, begun, sent, ended, end, discarded_tokens: 0 }
    }
}

impl<A: Answer> Racers<A> {
    /// One attempt.
    pub(super) fn new(answer: A, kind: AttemptKind, begun: Timestamp) -> Self {
        Self { first: Racer { answer, attempt: RunningAttempt::new(kind, begun) }, hedge: None }
    }

    /// Hedges it with another.
    pub(super) fn hedge(&mut self, answer: A, begun: Timestamp) {
        self.hedge = Some(Racer { answer, attempt: RunningAttempt::new(AttemptKind::Hedge, begun) });
    }

    /// Waits for the next event of either. Cancel safe, as [`Answer::next`] is.
    pub(super) async fn next(&mut self) -> (Which, AnswerEvent) {
        let Some(hedge) = &mut self.hedge else { return (Which::First, self.first.answer.next().await) };
        tokio::select! {
            biased;
            event = self.first.answer.next() => (Which::First, event),
            event = hedge.answer.next() => (Which::Hedge, event),
        }
    }

    /// The next event of the same read, if there is one.
    pub(super) fn next_known(&mut self, which: Which) -> Option<AnswerEvent> {
        self.of(which).answer.next_known()
    }

    /// One of the two; the only one where there are no longer two.
    pub(super) fn of(&mut self, which: Which) -> &mut Racer<A> {
        match (which, &mut self.hedge) {
            (Which::Hedge, Some(hedge)) => hedge,
            _ => &mut self.first,
        }
    }

    /// Cancels the other of two attempts, which is returned; this one goes on as the only one.
    pub(super) fn won_by(&mut self, which: Which, at: Timestamp) -> Option<Attempt> {
        self.without(which.other()).map(|other| other.ended(at, AttemptEnd::Cancelled))
    }

    /// Drops one of two attempts, which has failed and is returned; the other goes on as the only one. Where
    /// there is but one, nothing is dropped.
    pub(super) fn lost_by(&mut self, which: Which, at: Timestamp, why: FailureKind) -> Option<Attempt> {
        self.without(which).map(|failed| failed.ended(at, AttemptEnd::Failed(why)))
    }

    /// Leaves the other of two attempts alone.
    fn without(&mut self, which: Which) -> Option<RunningAttempt> {
        let hedge = self.hedge.take()?;
        Some(match which {
            Which::First => std::mem::replace(&mut self.first, hedge).attempt,
            Which::Hedge => hedge.attempt,
        })
    }
}

impl Which {
    const fn other(self) -> Self {
        match self {
            Self::First => Self::Hedge,
            Self::Hedge => Self::First,
        }
    }
}
