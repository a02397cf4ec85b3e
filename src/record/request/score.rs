//! The score of an answer.

use serde::{Deserialize, Serialize};

/// Whether an answer is the one that the row of a dataset expects. It is of complete answers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Row of its class's dataset, from 0 among those sent. A prompt has the same one in every run.
    pub row: u32,
    /// Whether it is right.
    pub right: bool,
}
