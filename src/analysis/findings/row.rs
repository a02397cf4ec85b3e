//! A row of the table of advice.

use crate::analysis::judgements::{FindingKind, Rule};
use crate::analysis::rules::Suppressor::{self, Reason};
use crate::analysis::rules::{RuleFact, RuleRow};
use crate::analysis::summary::run::Summary;

/// Reason that the server was overloaded. It says what was cut off. A longer run is slower still, and the queue opens
/// connections.
pub(super) const GREW: Suppressor = Reason(Rule::SteadyState);
/// A server that is gone: the rest of the run was against none.
pub(super) const GONE: Suppressor = Reason(Rule::ServerStayed);

pub(super) type FindingRow = RuleRow<FindingKind, fn(&Summary) -> Option<Vec<RuleFact>>>;

/// The rule that speaks where `test` has facts for it.
pub(super) const fn when(
    id: FindingKind,
    guide: &'static str,
    by: &'static [Suppressor],
    test: fn(&Summary) -> Option<Vec<RuleFact>>,
) -> FindingRow {
    FindingRow::new(id, guide, test, by)
}
