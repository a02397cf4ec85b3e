//! The rules in their order, what each of them found in a run, and what they found in several.

use serde::Serialize;

use super::concurrency::ConcurrencyContext;
use super::evidence::{Physics, RunEvidence};
use super::symptom::{Opinion, Regime, Symptom};
use super::{batching, cache, counters, decode, overload, prefill, stalls, tail};
use crate::analysis::rules::RuleRow;
use crate::analysis::{Summary, VerdictOutcome, in_words_of};
use crate::record::RunLog;
use crate::units::counted;

/// Share of SLOs met from which on no symptom needs a cure.
pub(super) const KEPT: f64 = 0.99;

/// Diagnosis of a run, of repeats or of the points of a sweep. Repeats are runs that repeat one another.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Runs that were looked at, where they repeat one another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Reason to take the findings with care: some run is INVALID or OVERLOADED. Absent where all are VALID.
    pub reservation: Option<String>,
    /// Share of requests that met their SLO, between 0 and 1. Of several runs it is the least. It is absent without
    /// SLOs.
    pub slo_attainment: Option<f64>,
    /// The symptoms, the gravest first: of several runs each regime once.
    pub symptoms: Vec<Symptom>,
    /// Rules without enough data (of several runs in some), and what they first lacked.
    pub not_enough_data: Vec<MissingEvidence>,
}

/// A rule that lacked evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingEvidence {
    /// Subject of the rule.
    pub about: &'static str,
    /// Evidence that it lacked.
    pub lacked: String,
}

/// A rule by what it is about.
type Row = RuleRow<&'static str, fn(&RunEvidence<'_>) -> Opinion>;

/// The gravest first: what keeps the server from serving, then where time goes.
const RULES: &[Row] = &[
    Row::new("overload", "server", overload::rule, &[]),
    Row::new("the tail of TTFT", "server", tail::rule, &[]),
    Row::new("TTFT by input length", "server", prefill::rule, &[]),
    Row::new("the prefix cache", "server", cache::rule, &[]),
    Row::new("stalls", "server", stalls::rule, &[]),
    Row::new("decode against the hardware", "server", decode::rule, &[]),
    Row::new("TPOT by answers at a time", "server", batching::rule, &[]),
];

impl Diagnosis {
    /// Diagnosis of one run and its summary.
    pub fn of_run(log: &RunLog, summary: &Summary) -> Self {
        let evidence = RunEvidence {
            log,
            summary,
            concurrency: ConcurrencyContext::from_log(log),
            physics: Physics::from_header(&log.header),
        };
        let mut diagnosis = Self::judged(RULES, |rule| rule(&evidence));
        if summary.run.inputs.is_some() {
            // What it cannot tell of tokens is nothing that such answers lack.
            diagnosis.not_enough_data.clear();
        }
        diagnosis.reservation = reservation(summary);
        diagnosis.slo_attainment = summary.slo.slo_attainment;
        for symptom in &mut diagnosis.symptoms {
            counters::test(symptom, summary);
            for words in [&mut symptom.confirm, &mut symptom.first_response] {
                *words = in_words_of(&summary.run.engine, words);
            }
        }
        diagnosis
    }

    /// Joint diagnosis of runs that repeat one another, by their ascending numbers.
    pub fn of_repeats(runs: &[(u64, &Self)]) -> Self {
        let mut symptoms: Vec<Symptom> = Vec::new();
        let mut not_enough_data: Vec<MissingEvidence> = Vec::new();
        for (number, diagnosis) in runs {
            for symptom in &diagnosis.symptoms {
                match symptoms.iter_mut().find(|known| known.regime == symptom.regime) {
                    Some(known) if known.in_runs.last() == Some(number) => {}
                    Some(known) => known.in_runs.push(*number),
                    None => symptoms.push(Symptom { in_runs: vec![*number], ..symptom.clone() }),
                }
            }
            for rule in &diagnosis.not_enough_data {
                if not_enough_data.iter().all(|known| known.about != rule.about) {
                    not_enough_data.push(rule.clone());
                }
            }
        }
        symptoms.sort_by_key(|known| known.regime);
        let doubted = runs.iter().filter(|(_, diagnosis)| diagnosis.reservation.is_some()).count() as u64;
        let of = counted(runs.len() as u64, "run");
        let reservation = (doubted > 0).then(|| format!("{doubted} of {of} not VALID: what follows is tentative"));
        let shares = runs.iter().filter_map(|(_, diagnosis)| diagnosis.slo_attainment);
        Self {
            runs: Some(runs.len() as u64),
            reservation,
            slo_attainment: shares.min_by(f64::total_cmp),
            symptoms,
            not_enough_data,
        }
    }

    /// Topics of the guide that explain its rules.
    pub fn topics() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|rule| rule.guide)
    }

    /// Whether nearly all SLOs were met, so that no symptom needs a cure.
    pub fn nearly_all_slos_met(&self) -> bool {
        self.slo_attainment.is_some_and(|share| share >= KEPT)
    }

    /// Whether it names `regime`.
    pub fn names(&self, regime: Regime) -> bool {
        self.symptoms.iter().any(|symptom| symptom.regime == regime)
    }

    /// Diagnosis by `rules`, which `ask` puts to the evidence.
    pub(super) fn judged<T: Copy>(rules: &[RuleRow<&'static str, T>], ask: impl Fn(&T) -> Opinion) -> Self {
        let mut diagnosis = Self::default();
        for (about, opinion) in RuleRow::judge(rules, |_, _| false, |rule| Some(ask(&rule.test))) {
            match opinion {
                Ok(seen) => diagnosis.symptoms.extend(seen),
                Err(lacked) => diagnosis.not_enough_data.push(MissingEvidence { about, lacked }),
            }
        }
        diagnosis
    }
}

fn reservation(summary: &Summary) -> Option<String> {
    match summary.verdict.outcome {
        VerdictOutcome::Valid => None,
        VerdictOutcome::Overloaded => Some("the run is OVERLOADED: latencies depend on how long it lasted".to_owned()),
        VerdictOutcome::Invalid => {
            let reasons = counted(summary.verdict.reasons.len() as u64, "reason");
            Some(format!("the run is INVALID, for {reasons}: what follows is tentative"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::symptom::seen;
    use super::*;
    use crate::experiment::Regime;

    fn diagnosis(regimes: &[Regime], slo_attainment: f64) -> Diagnosis {
        let symptoms = regimes
            .iter()
            .map(|regime| seen(*regime, [], &format!("{regime:?}"), Vec::new()).likely("likely"))
            .collect();
        Diagnosis { symptoms, slo_attainment: Some(slo_attainment), ..Diagnosis::default() }
    }

    #[test]
    fn a_regime_appears_once_with_the_runs_that_have_it() {
        let one = diagnosis(&[Regime::Queueing], 0.8);
        let two = diagnosis(&[Regime::Overload, Regime::Queueing, Regime::Queueing], 0.99);
        let three = Diagnosis { reservation: Some("INVALID".to_owned()), ..diagnosis(&[], 1.0) };
        let joint = Diagnosis::of_repeats(&[(1, &one), (2, &two), (3, &three)]);
        let found: Vec<_> = joint.symptoms.iter().map(|seen| (seen.regime, seen.in_runs.clone())).collect();
        assert_eq!(found, [(Regime::Overload, vec![2]), (Regime::Queueing, vec![1, 2])], "the gravest first");
        assert_eq!(joint.symptoms[0].in_words(Some(3)), "in run 2 of 3 runs: Overload");
        assert_eq!(joint.symptoms[1].in_words(Some(3)), "in 2 of 3 runs: Queueing (the figures of run 1)");
        assert_eq!(joint.symptoms[1].in_words(Some(2)), "in all 2 runs: Queueing (the figures of run 1)");
        assert_eq!((joint.slo_attainment, joint.nearly_all_slos_met()), (Some(0.8), false));
        assert!(joint.reservation.unwrap().starts_with("1 of 3 runs not VALID"));
    }
}
