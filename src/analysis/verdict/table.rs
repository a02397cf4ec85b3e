//! A rule of validity: a statistic beside its limit, by everything that is known of a run.

use crate::analysis::judgements::{Check, Measure, Rule};
use crate::analysis::requests::Observed;
use crate::analysis::rules::Suppressor::{NothingRan, Reason, Smoke};
use crate::analysis::rules::{RuleFact, RuleRow, Suppressor};
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;

/// Everything that the rules of validity look at.
#[derive(Clone, Copy)]
pub(super) struct CheckedRun<'a> {
    pub(super) observed: &'a Observed<'a>,
    pub(super) run: &'a Summary,
    pub(super) objectives: &'a [Objective],
}

/// The result of a rule; nothing where it has nothing to say.
pub(super) enum RuleResult {
    /// A value beside its limit, with the facts of the sentence about both.
    Compared { failed: bool, of: [f64; 2], facts: Vec<RuleFact> },
    /// The reason why there was nothing to test.
    Untested(String),
    /// Checks of statistics of their own.
    Checks(Vec<Check>),
}

/// The run passes when `value` is at most `limit`.
pub(super) fn at_most(value: f64, limit: f64, facts: Vec<RuleFact>) -> Option<RuleResult> {
    let passed = value <= limit;
    Some(RuleResult::Compared { failed: !passed, of: [value, limit], facts })
}

/// Says that there was nothing to test, for this reason.
pub(super) fn not_tested(why: impl Into<String>) -> Option<RuleResult> {
    Some(RuleResult::Untested(why.into()))
}

/// Whether the run fails such a test.
pub(super) fn fails(tested: Option<&RuleResult>) -> bool {
    matches!(tested, Some(RuleResult::Compared { failed: true, .. }))
}

/// A rule's statistic, and its test.
pub(super) type ValidityRow = RuleRow<Rule, (&'static str, fn(&CheckedRun<'_>) -> Option<RuleResult>)>;

/// A rule about a statistic.
pub(super) const fn row(
    rule: Rule,
    statistic: &'static str,
    by: &'static [Suppressor],
    test: fn(&CheckedRun<'_>) -> Option<RuleResult>,
) -> ValidityRow {
    ValidityRow::new(rule, "validity", (statistic, test), by)
}

/// Runs without a request, of which there is nothing to say.
pub(super) const RAN: &[Suppressor] = &[NothingRan];
/// Besides, runs of which nobody asked how long answers take.
pub(super) const NOT_ASKED: &[Suppressor] = &[NothingRan, Smoke];
/// A server that is gone breaks the rule too, and the reason has said so.
pub(super) const GONE: Suppressor = Reason(Rule::ServerStayed);

/// Checks that a rule makes of a run.
pub(super) fn checks(row: &ValidityRow, of: &CheckedRun<'_>) -> Vec<Check> {
    let (statistic, test) = row.test;
    let measure = Measure::new(row.id, statistic);
    match test(of) {
        None => Vec::new(),
        Some(RuleResult::Checks(checks)) => checks,
        Some(RuleResult::Untested(why)) => vec![measure.not_tested(why)],
        Some(RuleResult::Compared { failed, of, facts }) => {
            let (sentence, cure) = row.words(facts);
            vec![measure.judged(failed, of, sentence, &cure)]
        }
    }
}
