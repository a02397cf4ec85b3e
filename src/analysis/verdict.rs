//! Decides whether the figures of a run can be trusted.

mod accounting;
mod interactive_law;
mod lag;
mod littles_law;
mod steady_state;
#[cfg(test)]
mod tests;
mod tokens;

use serde::Serialize;

pub(crate) use self::accounting::ERROR_RATE_BAR;
pub(crate) use self::lag::lag_bar_ms;
use super::observed::Observed;
use super::{Check, CheckOutcome, ClientLoad, Objective, PauseImpact, Summary};

/// Whether the figures of a run can be trusted, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether no test failed.
    pub valid: bool,
    /// Why not: what the failed tests say.
    pub reasons: Vec<Reason>,
    /// Every test that the run was put to, those that it stood and those that there was nothing for included.
    pub checks: Vec<Check>,
}

/// Why a run is invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was found and what the bar is.
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
    /// So do the moments at which requests were let go.
    DeliveredArrivals,
    /// Requests were let go in time.
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
    /// No standstill of the measuring machine could have moved a reported percentile.
    Pauses,
    /// The system was no longer drifting or filling up.
    SteadyState,
}

impl Verdict {
    /// Judges a run. Where an objective is about the error rate, it takes the place of the bar here.
    pub(crate) fn of(observed: &Observed<'_>, summary: &Summary, objectives: &[Objective]) -> Self {
        let mut checks = accounting::checks(summary, objectives);
        // Of a run without a request there is nothing else to say.
        if !observed.requests.is_empty() {
            checks.extend(summary.arrivals.checks(&summary.run.arrival));
            checks.extend(lag::checks(summary));
            checks.push(littles_law::check(observed));
            checks.extend(interactive_law::check(summary));
            checks.extend(steady_state::checks(summary));
            checks.extend(tokens::checks(observed));
            checks.extend(ClientLoad::checks(summary));
            checks.extend(PauseImpact::checks(summary));
        }
        let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
        let reasons: Vec<_> = failed
            .map(|check| Reason {
                rule: check.rule,
                sentence: check.sentence.clone(),
                cure: check.cure.clone(),
            })
            .collect();
        Self { valid: reasons.is_empty(), reasons, checks }
    }

    /// Whether a test of `rule` failed.
    #[must_use]
    pub fn breaks(&self, rule: Rule) -> bool {
        self.reasons.iter().any(|reason| reason.rule == rule)
    }
}
