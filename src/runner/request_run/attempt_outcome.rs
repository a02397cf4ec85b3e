//! How an attempt ended.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::CapturedText;
use crate::record::Outcome;

/// How an attempt, with its hedge, ended.
pub(super) struct AttemptOutcome {
    pub(super) at: Timestamp,
    pub(super) outcome: Outcome,
    pub(super) captured: Option<CapturedText>,
    /// How long the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    /// When the request is sent again, if it is.
    pub(super) again: Option<Timestamp>,
}

impl AttemptOutcome {
    pub(super) fn new(at: Timestamp, outcome: Outcome) -> Self {
        Self { at, outcome, captured: None, retry_after: None, again: None }
    }
}
