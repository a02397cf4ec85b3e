//! One test that a run was put to: what was measured, where the bar is, and which side of it the run came down on.

use serde::Serialize;

use super::Rule;

/// One test that a run was put to. A rule may ask for several; a run is valid when none of them failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The rule that asks for it.
    pub rule: Rule,
    /// What was measured, such as `Anderson–Darling A² of the gaps`.
    pub statistic: &'static str,
    /// Its value in this run; absent where there was nothing to compute it from.
    pub value: Option<f64>,
    /// The value from which on, or up to which, the test fails.
    pub critical: Option<f64>,
    /// Which side of it the run came down on.
    pub outcome: CheckOutcome,
    /// What was found, with the figure and the bar, as a person reads it.
    pub sentence: String,
    /// What to do about it; empty unless it failed.
    pub cure: String,
}

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The run stood it.
    Passed,
    /// The run did not.
    Failed,
    /// There was nothing to test, or too little: the sentence says what was missing.
    NotTested,
}
