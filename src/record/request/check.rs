//! The record of a golden prompt.

use serde::{Deserialize, Serialize};

use super::outcome::Failure;
use super::usage::Usage;
use crate::clock::Timestamp;

/// Result of a golden prompt. It is no request of the plan and counts in none of its figures.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// Index in the workload's list of checks.
    pub check: u16,
    /// When it was dispatched under load; absent: before the run.
    #[serde(rename = "released_ns")]
    pub released: Option<Timestamp>,
    /// Its result.
    pub result: CheckResult,
    /// The beginning of the answer, secrets masked.
    pub excerpt: Option<String>,
    /// The server's token counts.
    pub usage: Option<Usage>,
}

/// The result of a golden prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckResult {
    /// The answer meets every expectation.
    Passed,
    /// The answer does not meet every expectation.
    Unmet {
        /// The first unmet expectation, to follow "the answer".
        why: String,
    },
    /// There was no complete answer.
    Unanswered(Failure),
    /// The run ended first.
    CutOff,
}

impl CheckRecord {
    /// Longest excerpt, characters.
    pub const EXCERPT_LIMIT: usize = 200;
}
