//! Judges a run by every rule, and says what a broken one makes of it.

use super::table::{CheckedRun, ValidityRow, checks};
use super::{accounts, cache, client, laws, server, stamps, steady_state, tokens};
use crate::analysis::judgements::{Check, Rule, Status, Verdict, VerdictOutcome};
use crate::analysis::requests::Observed;
use crate::analysis::rules::Suppressor::{self, Reason};
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;
use crate::record::RunEnding;

/// The rules, first whether the planned requests ran. A server that is gone comes before what it breaks.
fn rules() -> impl Iterator<Item = &'static ValidityRow> {
    let accounts = [accounts::RAN_AT_ALL, server::RULES, accounts::RULES, client::SENDING, stamps::RULES];
    accounts
        .into_iter()
        .chain([laws::RULES, steady_state::RULES, tokens::RULES, cache::RULES, client::READING])
        .flatten()
}

/// Judges a run by what it is for. Where an objective is about the error rate, it takes the place of the limit here.
pub(crate) fn judge(observed: &Observed<'_>, run: &Summary, objectives: &[Objective]) -> Verdict {
    let of = CheckedRun { observed, run, objectives };
    // A reason silences reasons, below, and no check.
    let speaks = |by: Suppressor, _: &[_]| !matches!(by, Reason(_)) && by.speaks_of(run);
    let judged = ValidityRow::judge(rules(), speaks, |row| Some(checks(row, &of)));
    let mut checks: Vec<Check> = judged.into_iter().flat_map(|(_, checks)| checks).collect();
    // A stop is the cause of what was late.
    if checks.last().is_some_and(client::is_stop) {
        checks.rotate_right(1);
    }
    let failed = || checks.iter().filter(|check| check.outcome == Status::Missed);
    let spoke = |by: &Suppressor| failed().any(|check| *by == Reason(check.rule));
    let silenced = |rule| rules().any(|row| row.id == rule && row.suppressed_by.iter().any(spoke));
    let reasons = failed().filter(|check| !silenced(check.rule));
    Verdict::new(reasons.map(|check| check.reason(blame(check.rule, run))).collect(), checks)
}

/// Says what a broken rule makes of the run. The server is to blame for a queue that grows, for failures that come of
/// load, and where a breaker cut the window short: what it found is judged by the other rules. What somebody stopped
/// shows no queue.
fn blame(rule: Rule, summary: &Summary) -> VerdictOutcome {
    let failures = &summary.failures;
    let of_load = [failures.reject_rate, failures.timeout_rate].into_iter().flatten().sum::<f64>();
    match (rule, failures.error_rate) {
        (Rule::SteadyState, _) if summary.window.ending != Some(RunEnding::Interrupted) => VerdictOutcome::Overloaded,
        (Rule::WholeWindow, _) if summary.breaker.is_some() => VerdictOutcome::Overloaded,
        (Rule::ErrorRate, Some(rate)) => of_failures(rate - of_load),
        _ => VerdictOutcome::Invalid,
    }
}

/// Outcome of too many failures. A run is OVERLOADED where the `others`, neither a refusal (429, 503) nor a timeout,
/// would be rare enough.
pub(crate) fn of_failures(others: f64) -> VerdictOutcome {
    if others <= accounts::ERROR_RATE_BAR { VerdictOutcome::Overloaded } else { VerdictOutcome::Invalid }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_silenced_by_rules_before_it() {
        for (place, row) in rules().enumerate() {
            let before = |rule: &Rule| rules().take(place).any(|row| row.id == *rule);
            let stands = |by: &Suppressor| !matches!(by, Reason(rule) if !before(rule));
            assert!(row.suppressed_by.iter().all(stands), "{:?}", row.id);
        }
    }
}
