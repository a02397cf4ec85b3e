//! The end of an attempt.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::CapturedText;
use crate::record::Outcome;

/// The end of an attempt, with its hedge.
pub(super) struct AttemptOutcome {
    pub(super) at: Timestamp,
    pub(super) outcome: Outcome,
    pub(super) captured: Option<CapturedText>,
    /// Wait for which the server asks.
    pub(super) retry_after: Option<Duration>,
    /// Moment at which the request is sent again, if it is.
    pub(super) again: Option<Timestamp>,
}

impl AttemptOutcome {
    pub(super) fn new(at: Timestamp, outcome: Outcome) -> Self {
        Self { at, outcome, captured: None, retry_after: None, again: None }
    }
}
