//! One test that a run was put to: what was measured, where the bar is, and which side of it the run came down on.

use serde::Serialize;

use super::Rule;

/// One test that a run was put to. A rule may ask for several; a run is valid when none of them failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The run stood it.
    Passed,
    /// The run did not.
    Failed,
    /// There was nothing to test, or too little: the sentence says what was missing.
    NotTested,
}

/// A statistic that a rule holds against its bar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) rule: Rule,
    pub(crate) statistic: &'static str,
}

impl Measure {
    /// The run stands the test when `value` is at most `critical`; `sentence` says so either way, `cure` is given
    /// to one that does not stand it.
    pub(crate) fn at_most(self, value: f64, critical: f64, sentence: String, cure: &str) -> Check {
        let (outcome, cure) =
            if value <= critical { (CheckOutcome::Passed, "") } else { (CheckOutcome::Failed, cure) };
        Check { outcome, value: Some(value), critical: Some(critical), ..self.check(sentence, cure) }
    }

    /// There was nothing to test, for the reason that `sentence` gives.
    pub(crate) fn not_tested(self, sentence: impl Into<String>) -> Check {
        self.check(sentence.into(), "")
    }

    fn check(self, sentence: String, cure: &str) -> Check {
        Check {
            rule: self.rule,
            statistic: self.statistic,
            value: None,
            critical: None,
            outcome: CheckOutcome::NotTested,
            sentence,
            cure: cure.to_owned(),
        }
    }
}
