//! The attempts of a request that was sent more than once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::outcome::FailureKind;
use crate::clock::Timestamp;
use crate::workload::RetryCause;

/// One sending of a request by a client that retries or hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Why it was made.
    pub kind: AttemptKind,
    /// The client set about it: the wait before it was over.
    #[serde(rename = "begun_ns")]
    pub begun: Timestamp,
    /// Moment at which it was handed to the socket; absent where there was no connection.
    #[serde(rename = "sent_ns", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
    /// Its stream closed, was cancelled or failed.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// How it ended.
    pub end: AttemptEnd,
    /// Answer tokens that came and were thrown away. It failed, and the request was sent again.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub discarded_tokens: u32,
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The attempt is the request itself.
    First,
    /// The attempt before it failed.
    Retry,
    /// The attempt before it had given no token for some time, and went on.
    Hedge,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "reason", rename_all = "snake_case")]
pub enum AttemptEnd {
    /// Its answer came whole: it is that of the request.
    Answered,
    /// The attempt failed.
    Failed(FailureKind),
    /// The client stopped waiting for it. Another attempt gave a token first, or the run ended.
    Cancelled,
}

impl FailureKind {
    /// Returns the cause by which a client retries it, if a client may.
    pub const fn retry_cause(self) -> Option<RetryCause> {
        match self {
            Self::HttpStatus(status) => Some(RetryCause::Status(status)),
            Self::TimeoutFirstToken | Self::TimeoutBetweenTokens | Self::TimeoutTotal => Some(RetryCause::Timeout),
            Self::Connect => Some(RetryCause::Connect),
            Self::Reset | Self::Truncated => Some(RetryCause::Reset),
            Self::Tls
            | Self::StreamError
            | Self::Malformed
            | Self::Aborted
            | Self::Empty
            | Self::ClientLimit
            | Self::Internal => None,
        }
    }
}

impl Attempt {
    /// Returns whether the server may have worked on it. It came there, and was not refused at the door.
    pub const fn may_have_cost(&self) -> bool {
        let refused = matches!(self.end, AttemptEnd::Failed(FailureKind::HttpStatus(400..=499 | 503)));
        self.sent.is_some() && !refused
    }

    /// The moments that it has.
    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        [Some(&mut self.begun), self.sent.as_mut(), Some(&mut self.ended)].into_iter().flatten()
    }

    /// Puts its clock later.
    pub(super) fn put_later(&mut self, by: Duration) {
        self.moments().for_each(|moment| *moment = moment.after(by));
    }
}
