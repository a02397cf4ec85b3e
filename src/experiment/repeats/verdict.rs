//! Whether the figures over several runs can be trusted.

use serde::Serialize;

use crate::analysis::{Check, CheckOutcome, Rule, Summary, VerdictOutcome, counts_over_runs};
use crate::record::Repeat;
use crate::units::counted as in_words;

/// Whether the figures over several runs can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatsVerdict {
    /// The worst of the counted runs' outcomes, and INVALID where there is none or all together fail a check.
    pub outcome: VerdictOutcome,
    /// Whether the figures can be trusted: false where that is INVALID alone.
    pub valid: bool,
    /// Why it is not VALID: the reasons of single runs, equal ones once, and those of all runs together.
    pub reasons: Vec<RepeatsReason>,
    /// The checks that need several runs.
    pub checks: Vec<Check>,
}

/// Why the figures over several runs cannot be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatsReason {
    /// The rule that was broken.
    pub rule: Rule,
    /// What this makes of the runs.
    pub outcome: VerdictOutcome,
    /// The runs that broke it, by their numbers; none where all of them together did.
    pub runs: Vec<u64>,
    /// The reason with the figures of the first of them, and the limit.
    pub sentence: String,
    /// What to do about it.
    pub cure: String,
}

impl RepeatsVerdict {
    /// The verdict on the `counted` ones of so many runs.
    pub(super) fn new(counted: &[(Repeat, &Summary)], runs: u64) -> Self {
        let mut reasons = reasons_of_runs(counted);
        if counted.is_empty() {
            reasons.push(RepeatsReason {
                rule: Rule::WholeWindow,
                outcome: VerdictOutcome::Invalid,
                runs: Vec::new(),
                sentence: format!("none of {} finished", in_words(runs, "run")),
                cure: "let the runs finish".to_owned(),
            });
        }
        let arrivals: Vec<_> =
            counted.iter().filter_map(|(_, run)| run.arrivals.delivered.as_ref()).collect();
        let checks = vec![counts_over_runs(&arrivals)];
        let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Failed);
        reasons.extend(failed.map(|check| RepeatsReason {
            rule: check.rule,
            outcome: VerdictOutcome::Invalid,
            runs: Vec::new(),
            sentence: check.sentence.clone(),
            cure: check.cure.clone(),
        }));
        let outcome = VerdictOutcome::worst(reasons.iter().map(|reason| reason.outcome));
        Self { outcome, valid: outcome != VerdictOutcome::Invalid, reasons, checks }
    }

    /// Whether the server did not keep up in some run, whatever else is against the runs.
    pub fn is_overloaded(&self) -> bool {
        self.reasons.iter().any(|reason| reason.outcome == VerdictOutcome::Overloaded)
    }
}

impl RepeatsReason {
    /// The runs that broke the rule, and how, in words.
    pub fn in_words(&self) -> String {
        let sentence = &self.sentence;
        match self.runs.as_slice() {
            [] => format!("all runs: {sentence}"),
            [run] => format!("run {run}: {sentence}"),
            [first, ..] => {
                let runs: Vec<_> = self.runs.iter().map(u64::to_string).collect();
                format!("runs {}: {sentence} (the figures of run {first})", runs.join(", "))
            }
        }
    }
}

/// The reasons of single runs. Reasons with the same rule and cure are merged.
fn reasons_of_runs(runs: &[(Repeat, &Summary)]) -> Vec<RepeatsReason> {
    let mut reasons: Vec<RepeatsReason> = Vec::new();
    for (number, reason) in
        runs.iter().flat_map(|(repeat, run)| run.verdict.reasons.iter().map(|reason| (repeat.number, reason)))
    {
        let same = reasons.iter_mut().find(|known| {
            known.rule == reason.rule && known.outcome == reason.outcome && known.cure == reason.cure
        });
        match same {
            Some(known) if known.runs.last() == Some(&number) => {}
            Some(known) => known.runs.push(number),
            None => reasons.push(RepeatsReason {
                rule: reason.rule,
                outcome: reason.outcome,
                runs: vec![number],
                sentence: reason.sentence.clone(),
                cure: reason.cure.clone(),
            }),
        }
    }
    reasons
}
