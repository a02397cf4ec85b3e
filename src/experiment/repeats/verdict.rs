//! Whether the figures over several runs can be trusted.

use crate::analysis::{Reason, Rule, Status, Summary, Verdict, VerdictOutcome, counts_over_runs};
use crate::record::Repeat;
use crate::units::counted as in_words;

/// Returns the verdict on the `counted` ones of so many runs. It is the worst of their outcomes, and INVALID where
/// there is none or all together fail a check. Its checks are those that need several runs.
pub(super) fn verdict(counted: &[(Repeat, &Summary)], runs: u64) -> Verdict {
    let (outcome, together) = (VerdictOutcome::Invalid, Some(Vec::new()));
    let mut reasons = reasons_of_runs(counted);
    if counted.is_empty() {
        let (sentence, cure) = (format!("none of {} finished", in_words(runs, "run")), "let the runs finish".into());
        reasons.push(Reason { rule: Rule::WholeWindow, outcome, runs: together.clone(), sentence, cure });
    }
    let arrivals: Vec<_> = counted.iter().filter_map(|(_, run)| run.arrivals.delivered.as_ref()).collect();
    let checks = vec![counts_over_runs(&arrivals)];
    let failed = checks.iter().filter(|check| check.outcome == Status::Missed);
    reasons.extend(failed.map(|check| Reason { runs: together.clone(), ..check.reason(outcome) }));
    Verdict::new(reasons, checks)
}

/// The reasons of single runs. Reasons with the same rule and cure are merged.
fn reasons_of_runs(runs: &[(Repeat, &Summary)]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    for (number, reason) in
        runs.iter().flat_map(|(repeat, run)| run.verdict.reasons.iter().map(|reason| (repeat.number, reason)))
    {
        let same = reasons
            .iter_mut()
            .find(|known| known.rule == reason.rule && known.outcome == reason.outcome && known.cure == reason.cure);
        match same.and_then(|known| known.runs.as_mut()) {
            Some(runs) if runs.last() == Some(&number) => {}
            Some(runs) => runs.push(number),
            None => reasons.push(Reason { runs: Some(vec![number]), ..reason.clone() }),
        }
    }
    reasons
}
