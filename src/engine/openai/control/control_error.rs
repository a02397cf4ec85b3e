//! Why a request outside the measured path failed.

use crate::record::{Failure, FailureKind};

/// Why a request outside the measured path failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ControlError {
    /// No answer came.
    #[error("{0}")]
    Unreachable(String),
    /// The server answered with an error.
    #[error("{path} answers {status}: {words}")]
    Status {
        path: String,
        status: u16,
        words: String,
        /// The place where a redirect leads.
        location: Option<String>,
    },
    /// The answer cannot be read.
    #[error("{path} does not answer with the expected JSON: {words}")]
    Unreadable { path: String, words: String },
}

impl ControlError {
    /// Returns the error as a request's failure.
    pub(crate) fn into_failure(self) -> Failure {
        let kind = match self {
            Self::Unreachable(_) => FailureKind::Connect,
            Self::Status { status, .. } => FailureKind::HttpStatus(status),
            Self::Unreadable { .. } => FailureKind::Malformed,
        };
        Failure::new(kind, self.to_string())
    }
}
