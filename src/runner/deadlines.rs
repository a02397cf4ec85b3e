//! The times at which an attempt of a request breaks its limits.

use std::time::Duration;

use super::options::Timeouts;
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind};
use crate::units::spoken;

/// The limits of an attempt. A hedge has those of the attempt that it hedges, from that one's beginning.
pub(super) struct Deadlines {
    pub(super) timeouts: Timeouts,
    pub(super) begin: Timestamp,
    pub(super) last_token: Option<Timestamp>,
}

impl Deadlines {
    /// The limits in force, each with its time.
    fn in_force(&self) -> impl Iterator<Item = (Timestamp, FailureKind, Duration)> + use<> {
        let (since, silence, kind) = match self.last_token {
            None => (self.begin, self.timeouts.first_token, FailureKind::TimeoutFirstToken),
            Some(at) => (at, self.timeouts.between_tokens, FailureKind::TimeoutBetweenTokens),
        };
        let silence = silence.map(|limit| (since.after(limit), kind, limit));
        let begin = self.begin;
        let total = self.timeouts.total.map(|limit| (begin.after(limit), FailureKind::TimeoutTotal, limit));
        silence.into_iter().chain(total)
    }

    /// The earliest.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.in_force().map(|(at, ..)| at).min()
    }

    /// The earliest, or another time where that comes before.
    pub(super) fn next_or(&self, other: Option<Timestamp>) -> Option<Timestamp> {
        self.next().into_iter().chain(other).min()
    }

    /// The failure of a request that goes on at this time, if a limit is broken.
    pub(super) fn broken(&self, now: Timestamp) -> Option<Failure> {
        let (_, kind, limit) = self.in_force().filter(|(at, ..)| *at <= now).min_by_key(|(at, ..)| *at)?;
        Some(Failure::new(kind, format!("no more than {} allowed", spoken(limit))))
    }
}
