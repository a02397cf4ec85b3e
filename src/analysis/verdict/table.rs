//! A rule of validity: a statistic beside its limit, by everything that is known of a run.

use super::check::{Check, Measure, Rule};
use crate::analysis::requests::observed::Observed;
use crate::analysis::rules::Suppressor::{NothingRan, Reason, Smoke};
use crate::analysis::rules::{RuleFacts, RuleRow, Suppressor};
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;

/// Everything that the rules of validity look at.
#[derive(Clone, Copy)]
pub(super) struct CheckedRun<'a> {
    pub(super) observed: &'a Observed<'a>,
    pub(super) run: &'a Summary,
    pub(super) objectives: &'a [Objective],
}

/// What a rule looks at.
#[derive(Clone, Copy)]
pub(super) enum Test {
    /// A statistic that it compares with its limit.
    Statistic(&'static str, fn(&CheckedRun<'_>) -> Tested),
    /// Checks that have statistics of their own.
    Checks(fn(&CheckedRun<'_>) -> Vec<Check>),
}

/// A value beside its limit, or why there was nothing to test; `None` where the rule has nothing to say.
pub(super) type Tested = Option<Result<Compared, String>>;

/// A value beside its limit, and the facts of the sentence about both.
pub(super) struct Compared {
    failed: bool,
    value: f64,
    limit: f64,
    facts: RuleFacts,
}

/// The run passes when `value` is at most `limit`.
pub(super) fn at_most(value: f64, limit: f64, facts: RuleFacts) -> Tested {
    let passed = value <= limit;
    Some(Ok(Compared { failed: !passed, value, limit, facts }))
}

/// There was nothing to test, for this reason.
pub(super) fn not_tested(why: impl Into<String>) -> Tested {
    Some(Err(why.into()))
}

/// Whether the run fails such a test.
pub(super) fn fails(tested: &Tested) -> bool {
    matches!(tested, Some(Ok(Compared { failed: true, .. })))
}

pub(super) type Row = RuleRow<Rule, Test>;

/// A rule about a statistic.
pub(super) const fn row(
    rule: Rule,
    statistic: &'static str,
    by: &'static [Suppressor],
    test: fn(&CheckedRun<'_>) -> Tested,
) -> Row {
    Row::new(rule, "validity", Test::Statistic(statistic, test), by)
}

/// Runs without a request, of which there is nothing to say.
pub(super) const RAN: &[Suppressor] = &[NothingRan];
/// Besides, runs of which nobody asked how long answers take.
pub(super) const NOT_ASKED: &[Suppressor] = &[NothingRan, Smoke];
/// A server that is gone breaks the rule too, and the reason has said so.
pub(super) const GONE: Suppressor = Reason(Rule::ServerStayed);

/// Checks that a rule makes of a run.
pub(super) fn checks(row: &Row, of: &CheckedRun<'_>) -> Vec<Check> {
    let (statistic, test) = match row.test {
        Test::Checks(checks) => return checks(of),
        Test::Statistic(statistic, test) => (statistic, test),
    };
    let measure = Measure::new(row.id, statistic);
    let check = test(of).map(|tested| match tested {
        Err(why) => measure.not_tested(why),
        Ok(Compared { failed, value, limit, facts }) => {
            let (sentence, cure) = row.words(facts);
            measure.judged(failed, [value, limit], sentence, &cure)
        }
    });
    check.into_iter().collect()
}
