//! The rules in their order, and what each of them found.

use serde::Serialize;

use super::concurrency::ConcurrencyContext;
use super::evidence::RunEvidence;
use super::physics::Physics;
use super::symptom::{Opinion, Regime, Symptom};
use super::{batching, cache, decode, prefill, stalls, tail, trouble};
use crate::analysis::Summary;
use crate::analysis::wording::counted;
use crate::record::RunLog;

/// From this share of SLOs met on, no symptom needs a cure.
pub(super) const KEPT: f64 = 0.99;

/// The diagnosis of a run, or of the points of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Why the findings are tentative: the run is INVALID. Absent for a valid one.
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

/// The gravest first: what makes figures the client's own, then what keeps the server from serving, then where time
/// goes.
const RULES: [Rule; 10] = [
    ("the client's own limits", trouble::client),
    ("refusals", trouble::refusals),
    ("overload", trouble::overload),
    ("the client's own cap", trouble::own_cap),
    ("the tail of TTFT", tail::rule),
    ("TTFT by input length", prefill::rule),
    ("the prefix cache", cache::rule),
    ("stalls", stalls::rule),
    ("decode against the hardware", decode::rule),
    ("TPOT by answers at a time", batching::rule),
];

impl Diagnosis {
    /// Of one run and its summary.
    pub fn of_run(log: &RunLog, summary: &Summary) -> Self {
        let evidence = RunEvidence {
            log,
            summary,
            concurrency: ConcurrencyContext::of(log),
            physics: Physics::of(&log.header),
        };
        let mut diagnosis = Self {
            reservation: reservation(summary),
            slo_attainment: summary.slo.slo_attainment,
            ..Self::default()
        };
        for (about, rule) in RULES {
            diagnosis.take(about, rule(&evidence));
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
            Opinion::Seen(symptom) => self.symptoms.push(*symptom),
            Opinion::Nothing => {}
            Opinion::Lacking(lacked) => self.not_enough_data.push(MissingEvidence { about, lacked }),
        }
    }
}

fn reservation(summary: &Summary) -> Option<String> {
    let reasons = summary.verdict.reasons.len() as u64;
    (reasons > 0).then(|| {
        let reasons = counted(reasons, "reason");
        format!("the run is INVALID, for {reasons}: what follows is tentative")
    })
}
