//! The variables of an experiment, by name.

use std::fmt;

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

/// A variable of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, IntoStaticStr, VariantArray)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MatrixVariable {
    /// The workload.
    Workload,
    /// Length of prompts.
    InputTokens,
    /// Length of answers.
    OutputTokens,
    /// What prompts have in common.
    Prefix,
    /// Rate, or number of users.
    Load,
    /// Spacing of arrivals.
    Arrival,
    /// Cap on requests in flight.
    MaxConcurrency,
    /// The variant of the server, which is no setting of a row.
    Variant,
}

impl MatrixVariable {
    /// Its name in stored files.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for MatrixVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name().replace('_', " "))
    }
}
