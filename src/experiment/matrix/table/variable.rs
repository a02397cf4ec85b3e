//! The variables of an experiment, by name.

use std::fmt;

use serde::Serialize;

/// A variable of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
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
    /// Those of a row.
    pub(super) const OF_ROWS: [Self; 7] = [
        Self::Workload,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Prefix,
        Self::Load,
        Self::Arrival,
        Self::MaxConcurrency,
    ];

    /// Its name in stored files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Prefix => "prefix",
            Self::Load => "load",
            Self::Arrival => "arrival",
            Self::MaxConcurrency => "max_concurrency",
            Self::Variant => "variant",
        }
    }
}

impl fmt::Display for MatrixVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name().replace('_', " "))
    }
}
