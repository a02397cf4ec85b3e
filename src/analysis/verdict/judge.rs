//! Decides whether the figures of a run can be trusted.

use super::check::{CheckOutcome, Reason, Verdict};
use super::{accounting, client, laws, steady_state, tokens};
use crate::analysis::requests::observed::Observed;
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::run::Summary;

/// Judges a run. Where an objective is about the error rate, it takes the place of the limit here.
pub(crate) fn judge(observed: &Observed<'_>, summary: &Summary, objectives: &[Objective]) -> Verdict {
    let mut checks = accounting::checks(summary, objectives);
    // Of a run without a request there is nothing else to say.
    if !observed.requests.is_empty() {
        checks.extend(summary.arrivals.checks(&summary.run.arrival));
        checks.extend(client::lag_checks(summary));
        checks.push(laws::littles_law(observed));
        checks.extend(laws::interactive_law(summary));
        checks.extend(steady_state::checks(summary));
        checks.extend(tokens::checks(observed));
        checks.extend(client::checks(summary));
        checks.push(client::stall_check(summary));
    }
    let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
    let reasons: Vec<_> = failed
        .map(|check| Reason { rule: check.rule, sentence: check.sentence.clone(), cure: check.cure.clone() })
        .collect();
    Verdict { valid: reasons.is_empty(), reasons, checks }
}
