//! The rules in their order, what each of them found in a run, and what they found in several.

use serde::Serialize;

use super::concurrency::ConcurrencyContext;
use super::evidence::{Physics, RunEvidence};
use super::symptom::{Opinion, Regime, Symptom};
use super::{batching, cache, counters, decode, overload, prefill, stalls, tail};
use crate::analysis::{Summary, VerdictOutcome, in_words_of};
use crate::record::RunLog;
use crate::units::counted;

/// From this share of SLOs met on, no symptom needs a cure.
pub(super) const KEPT: f64 = 0.99;

/// The diagnosis of a run, or of the points of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Why to take the findings with care: the run is INVALID or OVERLOADED. Absent for a VALID one.
    pub reservation: Option<String>,
    /// Share of requests that met their SLO, between 0 and 1; absent without SLOs.
    pub slo_attainment: Option<f64>,
    /// The symptoms, the gravest first.
    pub symptoms: Vec<Symptom>,
    /// Rules without enough data, and what they lack.
    pub not_enough_data: Vec<MissingEvidence>,
}

/// A rule that lacked evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingEvidence {
    /// What it would have been about.
    pub about: &'static str,
    /// What it lacked.
    pub lacked: String,
}

/// A rule: what it is about, and how it looks.
type Rule = (&'static str, fn(&RunEvidence<'_>) -> Opinion);

/// The gravest first: what keeps the server from serving, then where time goes.
const RULES: [Rule; 7] = [
    ("overload", overload::rule),
    ("the tail of TTFT", tail::rule),
    ("TTFT by input length", prefill::rule),
    ("the prefix cache", cache::rule),
    ("stalls", stalls::rule),
    ("decode against the hardware", decode::rule),
    ("TPOT by answers at a time", batching::rule),
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
        let mut diagnosis = Self {
            reservation: reservation(summary),
            slo_attainment: summary.slo.slo_attainment,
            ..Self::default()
        };
        for (about, rule) in RULES {
            diagnosis.take(about, rule(&evidence));
        }
        for symptom in &mut diagnosis.symptoms {
            counters::test(symptom, summary);
            for words in [&mut symptom.confirm, &mut symptom.first_response] {
                *words = in_words_of(&summary.run.engine, words);
            }
        }
        diagnosis
    }

    /// Whether there are no symptoms.
    pub fn is_silent(&self) -> bool {
        self.symptoms.is_empty()
    }

    /// Whether nearly all SLOs were met, so that no symptom needs a cure.
    pub fn nearly_all_slos_met(&self) -> bool {
        self.slo_attainment.is_some_and(|share| share >= KEPT)
    }

    /// Whether it names `regime`.
    pub fn names(&self, regime: Regime) -> bool {
        self.symptoms.iter().any(|symptom| symptom.regime == regime)
    }

    pub(super) fn take(&mut self, about: &'static str, opinion: Opinion) {
        match opinion {
            Ok(seen) => self.symptoms.extend(seen),
            Err(lacked) => self.not_enough_data.push(MissingEvidence { about, lacked }),
        }
    }
}

fn reservation(summary: &Summary) -> Option<String> {
    match summary.verdict.outcome {
        VerdictOutcome::Valid => None,
        VerdictOutcome::Overloaded => {
            Some("the run is OVERLOADED: latencies depend on how long it lasted".to_owned())
        }
        VerdictOutcome::Invalid => {
            let reasons = counted(summary.verdict.reasons.len() as u64, "reason");
            Some(format!("the run is INVALID, for {reasons}: what follows is tentative"))
        }
    }
}

/// The regimes in which runs that repeat one another found the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatsDiagnosis {
    /// Runs that were looked at.
    pub runs: u64,
    /// Why to take it with care: some run is not VALID. Absent where none is.
    pub reservation: Option<String>,
    /// Share of requests that met their SLO, between 0 and 1, in the run in which it is least; absent without
    /// SLOs.
    pub slo_attainment: Option<f64>,
    /// What the rules saw, the gravest first: each regime once, in however many runs it was seen.
    pub symptoms: Vec<RepeatsSymptom>,
    /// Rules without enough data in some run that found nothing in the others, with what they first lacked.
    pub not_enough_data: Vec<MissingEvidence>,
}

/// A symptom, and the runs that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatsSymptom {
    /// Symptom, with the figures of the first of these runs.
    #[serde(flatten)]
    pub symptom: Symptom,
    /// Numbers of the runs.
    pub in_runs: Vec<u64>,
}

impl RepeatsDiagnosis {
    /// Diagnosis of runs by their ascending numbers.
    pub fn from_runs(runs: &[(u64, &Diagnosis)]) -> Self {
        let mut symptoms: Vec<RepeatsSymptom> = Vec::new();
        let mut not_enough_data: Vec<MissingEvidence> = Vec::new();
        for (number, diagnosis) in runs {
            for symptom in &diagnosis.symptoms {
                match symptoms.iter_mut().find(|known| known.symptom.regime == symptom.regime) {
                    Some(known) if known.in_runs.last() == Some(number) => {}
                    Some(known) => known.in_runs.push(*number),
                    None => {
                        symptoms.push(RepeatsSymptom { symptom: symptom.clone(), in_runs: vec![*number] });
                    }
                }
            }
            for rule in &diagnosis.not_enough_data {
                if not_enough_data.iter().all(|known| known.about != rule.about) {
                    not_enough_data.push(rule.clone());
                }
            }
        }
        symptoms.sort_by_key(|known| known.symptom.regime);
        let doubted = runs.iter().filter(|(_, diagnosis)| diagnosis.reservation.is_some()).count() as u64;
        let of = counted(runs.len() as u64, "run");
        let reservation =
            (doubted > 0).then(|| format!("{doubted} of {of} not VALID: what follows is tentative"));
        let shares = runs.iter().filter_map(|(_, diagnosis)| diagnosis.slo_attainment);
        Self {
            runs: runs.len() as u64,
            reservation,
            slo_attainment: shares.min_by(f64::total_cmp),
            symptoms,
            not_enough_data,
        }
    }

    /// Whether nearly all SLOs were met in every run, so that no symptom needs a cure.
    pub fn nearly_all_slos_met(&self) -> bool {
        self.slo_attainment.is_some_and(|share| share >= KEPT)
    }
}

impl RepeatsSymptom {
    /// Symptom as that of a single run, with how many of `runs` have it.
    pub fn among(&self, runs: u64) -> Symptom {
        let Symptom { symptom, .. } = &self.symptom;
        let seen = self.in_runs.len() as u64;
        let (first, of) = (self.in_runs.first().copied().unwrap_or_default(), counted(runs, "run"));
        let symptom = match seen {
            1 if runs == 1 => symptom.clone(),
            1 => format!("in run {first} of {of}: {symptom}"),
            _ if seen == runs => format!("in all {of}: {symptom} (the figures of run {first})"),
            _ => format!("in {seen} of {of}: {symptom} (the figures of run {first})"),
        };
        Symptom { symptom, ..self.symptom.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::symptom::seen;
    use super::*;
    use crate::experiment::Regime;

    fn diagnosis(regimes: &[Regime], slo_attainment: f64) -> Diagnosis {
        let symptoms =
            regimes.iter().map(|regime| seen(*regime, format!("{regime:?}")).likely("likely")).collect();
        Diagnosis { symptoms, slo_attainment: Some(slo_attainment), ..Diagnosis::default() }
    }

    #[test]
    fn a_regime_appears_once_with_the_runs_that_have_it() {
        let one = diagnosis(&[Regime::Queueing], 0.8);
        let two = diagnosis(&[Regime::Overload, Regime::Queueing, Regime::Queueing], 0.99);
        let three = Diagnosis { reservation: Some("INVALID".to_owned()), ..diagnosis(&[], 1.0) };
        let joint = RepeatsDiagnosis::from_runs(&[(1, &one), (2, &two), (3, &three)]);
        let found: Vec<_> =
            joint.symptoms.iter().map(|seen| (seen.symptom.regime, seen.in_runs.clone())).collect();
        assert_eq!(found, [(Regime::Overload, vec![2]), (Regime::Queueing, vec![1, 2])], "the gravest first");
        assert_eq!(joint.symptoms[0].among(3).symptom, "in run 2 of 3 runs: Overload");
        assert_eq!(joint.symptoms[1].among(3).symptom, "in 2 of 3 runs: Queueing (the figures of run 1)");
        assert_eq!(joint.symptoms[1].among(2).symptom, "in all 2 runs: Queueing (the figures of run 1)");
        assert_eq!((joint.slo_attainment, joint.nearly_all_slos_met()), (Some(0.8), false));
        assert!(joint.reservation.unwrap().starts_with("1 of 3 runs not VALID"));
    }
}
