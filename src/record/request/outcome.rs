//! How a request ended, and whether its answer is in the required format.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::cut;
use crate::workload::ShapeFault;

/// How a request ended. A failed request has a record like any other; none is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The answer is complete. It ended as well as this server's answers do, and nothing says that it failed.
    Completed,
    /// The request failed.
    Failed(Box<Failure>),
    /// The client left before the answer was complete. A share of clients does so: no success and no failure.
    Cancelled,
    /// The request was still running when the run stopped waiting; its true duration is unknown.
    #[default]
    Censored,
}

impl Outcome {
    /// Returns whether the client stopped waiting. It left, or stopped at the run's end or at one of its own time
    /// limits: the true duration is unknown, and at least as long as the wait.
    pub const fn is_cut_off(&self) -> bool {
        match self {
            Self::Completed => false,
            Self::Failed(failure) => failure.reason.is_timeout(),
            Self::Cancelled | Self::Censored => true,
        }
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Failure {
    /// The kind of failure, for counting.
    pub reason: FailureKind,
    /// Message of the server or the system, shortened, without secrets.
    pub message: String,
}

impl Failure {
    /// Longest message stored, characters.
    pub const MESSAGE_LIMIT: usize = 300;
    /// The message for an answer that ended unlike others of its server.
    pub const WITHOUT_REASON: &str = "the answer ended without a finish reason, which this server's other answers have";

    /// A failure with its message cut to [`Self::MESSAGE_LIMIT`] characters.
    pub fn new(reason: FailureKind, message: impl Into<String>) -> Self {
        Self { reason, message: cut(message.into(), Self::MESSAGE_LIMIT) }
    }
}

/// Kinds of failure, each counted under its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// No connection: refused, unreachable, unknown host.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The connection broke before the answer was complete.
    Reset,
    /// The server answered with an HTTP status other than 2xx.
    HttpStatus(u16),
    /// The server sent an error inside an answer that it had begun with status 200.
    StreamError,
    /// The answer ended cleanly, too early or not as the server's other answers end.
    Truncated,
    /// The answer did not follow the protocol: broken JSON, wrong content type, broken framing.
    Malformed,
    /// The server gave the answer up, by its finish reason (`abort`, `error`, `timeout`).
    Aborted,
    /// The answer ended properly without a token.
    Empty,
    /// No first token within its limit.
    TimeoutFirstToken,
    /// Silence between two tokens for longer than the limit.
    TimeoutBetweenTokens,
    /// The whole answer took longer than the limit.
    TimeoutTotal,
    /// Lack of file descriptors, local ports or memory on this machine. No descriptor or port was free for another
    /// connection, or the answers in flight took more memory than they may.
    ClientLimit,
    /// A failure of this program itself; please report it.
    Internal,
}

impl FailureKind {
    /// Whether the server rejected the request (429 Too Many Requests, 503 Service Unavailable).
    pub const fn is_reject(self) -> bool {
        matches!(self, Self::HttpStatus(429 | 503))
    }

    /// Whether one of the client's own time limits ended the request.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::TimeoutFirstToken | Self::TimeoutBetweenTokens | Self::TimeoutTotal)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.pad("connect"),
            Self::Tls => f.pad("tls"),
            Self::Reset => f.pad("reset"),
            Self::HttpStatus(code) => f.pad(&format!("http {code}")),
            Self::StreamError => f.pad("error in stream"),
            Self::Truncated => f.pad("truncated"),
            Self::Malformed => f.pad("malformed"),
            Self::Aborted => f.pad("aborted"),
            Self::Empty => f.pad("empty answer"),
            Self::TimeoutFirstToken => f.pad("timeout to first token"),
            Self::TimeoutBetweenTokens => f.pad("timeout between tokens"),
            Self::TimeoutTotal => f.pad("timeout in total"),
            Self::ClientLimit => f.pad("out of files, ports or memory"),
            Self::Internal => f.pad("fault of skyline"),
        }
    }
}

/// Whether an answer is in the required format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Validity {
    /// The answer is in the format.
    Valid,
    /// The answer is complete and not in the format.
    Invalid {
        /// Why not.
        fault: ShapeFault,
    },
    /// The answer was cut at its length limit, which says nothing about the format.
    CutAtLimit,
    /// The answer is incomplete.
    NotCompleted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_survive_json() {
        for outcome in [
            Outcome::Completed,
            Outcome::Failed(Failure::new(FailureKind::HttpStatus(429), "slow down").into()),
            Outcome::Failed(Failure::new(FailureKind::Reset, "connection reset by peer").into()),
            Outcome::Cancelled,
            Outcome::Censored,
        ] {
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), outcome, "{json}");
        }
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let failure = Failure::new(FailureKind::Malformed, "é".repeat(400));
        assert_eq!(failure.message.chars().count(), Failure::MESSAGE_LIMIT + 1);
        assert!(failure.message.ends_with('…'));
    }
}
