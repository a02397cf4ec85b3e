//! The checks of a run, the rules that ask for them, and the verdict.

use serde::Serialize;

/// One check of a run. A rule may ask for several; a run is valid when none of them failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// The rule that asks for it.
    pub rule: Rule,
    /// What was measured, such as `Anderson–Darling A² of the gaps`.
    pub statistic: &'static str,
    /// Its value in this run; absent where there was nothing to compute it from.
    pub value: Option<f64>,
    /// The limit that `value` is compared with.
    pub critical: Option<f64>,
    /// Whether the run passed.
    pub outcome: CheckOutcome,
    /// What was found, with the figure and the limit.
    pub sentence: String,
    /// What to do about it; empty unless it failed.
    pub cure: String,
}

/// Outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The run passed it.
    Passed,
    /// The run failed it.
    Failed,
    /// There was nothing to test, or too little: the sentence says what was missing.
    NotTested,
}

/// A statistic that a rule compares with its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) rule: Rule,
    pub(crate) statistic: &'static str,
}

impl Measure {
    /// The run passes when `value` is at most `critical`; `sentence` says so either way, `cure` is given
    /// to one that fails.
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

/// Whether the figures of a run can be trusted, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether no test failed.
    pub valid: bool,
    /// Why not: what the failed tests say.
    pub reasons: Vec<Reason>,
    /// Every check of the run, those that passed and those that could not be tested included.
    pub checks: Vec<Check>,
}

/// Why a run is invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was found, and the limit.
    pub sentence: String,
    /// What to do about it.
    pub cure: String,
}

/// A rule of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// There is something to measure.
    MeasuredRequests,
    /// The run was not stopped before its window ended.
    WholeWindow,
    /// planned = completed + failed + censored, exactly.
    Conservation,
    /// At least one request completed.
    SomethingCompleted,
    /// Failures are rare.
    ErrorRate,
    /// The planned arrivals follow the process that the workload declares.
    PlannedArrivals,
    /// So do the moments at which requests were dispatched.
    DeliveredArrivals,
    /// Requests were dispatched on time.
    ScheduleLag,
    /// L = λW holds between what was in flight and how long it stayed.
    LittlesLaw,
    /// X = N ÷ (R + Z) holds between the users of a closed loop, their requests and their think times.
    InteractiveLaw,
    /// The tokens of the chunks are those of the server's `usage`.
    TokenIdentity,
    /// The tokens that the client counted are those that the server counted.
    CounterIdentity,
    /// The measuring machine and process had time to spare.
    ClientStarved,
    /// No host stall of the client could have moved a reported percentile.
    HostStalls,
    /// The system was no longer drifting or filling up.
    SteadyState,
}

impl Verdict {
    /// Whether a test of `rule` failed.
    pub fn breaks(&self, rule: Rule) -> bool {
        self.reasons.iter().any(|reason| reason.rule == rule)
    }
}
