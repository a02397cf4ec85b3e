//! Why a run did not reach its end, and what else cannot run.

use serde::{Deserialize, Serialize};

/// Failure that kept a run from its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// Description of what went wrong, in a sentence.
    pub why: String,
    /// Side that failed.
    pub by: FailedBy,
}

/// Cause of a run that could not be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// The server: it did not start, was never ready, or ended.
    Server,
    /// Client's side, which says nothing about the server. It is its machine, its disk, a command around the runs, or
    /// something else in the server's place.
    Client,
}

/// Reach of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReach {
    /// The requested run alone.
    Run,
    /// Every run against the same server: it never began to serve.
    Server,
}
