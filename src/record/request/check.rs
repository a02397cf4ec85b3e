//! The record of one golden prompt that was asked.

use serde::{Deserialize, Serialize};

use super::outcome::Failure;
use super::record::Usage;
use crate::clock::Timestamp;

/// What came of a golden prompt: no request of the plan, and in none of its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// Index in the workload's list of checks.
    pub check: u16,
    /// The moment it was let go, under load; absent: before the run.
    #[serde(rename = "released_ns", default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Timestamp>,
    /// What came of it.
    pub result: CheckResult,
    /// How the answer begins, secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The server's token counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What came of a golden prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CheckResult {
    /// All that is expected of the answer holds.
    Passed,
    /// It does not.
    Unmet {
        /// The first expectation that does not hold, after "the answer".
        why: String,
    },
    /// There was no whole answer.
    Unanswered(Failure),
    /// The run ended first.
    CutOff,
}

impl CheckRecord {
    /// Characters of an answer that are kept.
    pub const EXCERPT_LIMIT: usize = 200;
}
