//! The figures of a run by the phases of its load: base, burst and after, or stage by stage.

use std::collections::BTreeMap;

use serde::Serialize;

use super::stretches::{LoadTimeline, PhaseOfLoad, changing};
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::observed::{Measured, Observed};
use crate::analysis::slo::attainment::Attainment;
use crate::record::Outcome;
use crate::workload::ArrivalPattern;

/// The measured requests scheduled in one phase of the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadPhase {
    /// `base`, `burst`, `after_burst`, `dip` (below the base rate), or `stage_1` and so on; `after_stages`
    /// follows the last stage.
    pub phase: String,
    /// Of a stage: the declared rate at its beginning, requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_rate_per_s: Option<f64>,
    /// Of a stage: the declared rate at its end, requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_rate_per_s: Option<f64>,
    /// How much of the window the load was in this phase, seconds.
    pub seconds: f64,
    /// Requests that came due in it.
    pub requests: u64,
    /// Those per second of the phase.
    pub scheduled_per_s: Option<f64>,
    /// Those with a complete answer.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those still running when the run stopped waiting.
    pub censored: u64,
    /// Those that failed, as a share between 0 and 1 of those that came due.
    pub error_rate: Option<f64>,
    /// Those that met their SLO, as a share of those that have one.
    pub slo_attainment: Option<f64>,
    /// TTFT, TPOT and e2e.
    pub latency: LatencyTable,
}

impl LoadPhase {
    /// Of bursts, spikes and stages, in this order: base, burst, after, or the stages as they come. Empty for
    /// other loads, and where the window has one phase only.
    pub(crate) fn all(observed: &Observed<'_>) -> Vec<Self> {
        let (start_s, end_s) = (observed.start.as_secs_f64(), observed.end.as_secs_f64());
        let workload = &observed.log.header.workload;
        let course = LoadTimeline::new(workload, end_s);
        let mut seconds: BTreeMap<PhaseOfLoad, f64> = BTreeMap::new();
        for stretch in &course.stretches {
            let inside = stretch.until_s.min(end_s) - stretch.from_s.max(start_s);
            if inside > 0.0 {
                *seconds.entry(stretch.phase).or_default() += inside;
            }
        }
        if seconds.len() < 2 {
            return Vec::new();
        }
        let mut requests: BTreeMap<PhaseOfLoad, Vec<&Measured<'_>>> = BTreeMap::new();
        for request in &observed.requests {
            if let Some(phase) = course.phase_at(request.record().scheduled.as_secs_f64()) {
                requests.entry(phase).or_default().push(request);
            }
        }
        let of = |(phase, seconds): (PhaseOfLoad, f64)| {
            let own = requests.remove(&phase).unwrap_or_default();
            Self::new(observed, phase, seconds, &own)
        };
        seconds.into_iter().map(of).collect()
    }

    fn new(observed: &Observed<'_>, phase: PhaseOfLoad, seconds: f64, requests: &[&Measured<'_>]) -> Self {
        let count = |wanted: fn(&Outcome) -> bool| {
            requests.iter().filter(|request| wanted(&request.record().outcome)).count() as u64
        };
        let all = requests.len() as u64;
        let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let stages = match changing(&observed.log.header.workload.arrival) {
            Some(ArrivalPattern::Stages { stages }) => stages.as_slice(),
            _ => &[],
        };
        let stage = match phase {
            PhaseOfLoad::Stage(place) => stages.get(place),
            _ => None,
        };
        Self {
            phase: match phase {
                PhaseOfLoad::Base => "base".to_owned(),
                PhaseOfLoad::Burst => "burst".to_owned(),
                PhaseOfLoad::AfterBurst => "after_burst".to_owned(),
                PhaseOfLoad::Dip => "dip".to_owned(),
                PhaseOfLoad::Stage(place) if place >= stages.len() => "after_stages".to_owned(),
                PhaseOfLoad::Stage(place) => format!("stage_{}", place + 1),
            },
            from_rate_per_s: stage.map(|stage| stage.from_rate_per_s),
            to_rate_per_s: stage.map(|stage| stage.to_rate_per_s),
            seconds,
            requests: all,
            scheduled_per_s: (seconds > 0.0).then(|| all as f64 / seconds),
            completed: count(|outcome| matches!(outcome, Outcome::Completed)),
            failed,
            censored: count(|outcome| matches!(outcome, Outcome::Censored)),
            error_rate: (all > 0).then(|| failed as f64 / all as f64),
            slo_attainment: Attainment::new(observed, all, requests, |_| false).slo_attainment,
            latency: LatencyTable::of_group(observed, requests),
        }
    }
}

#[cfg(test)]
mod tests;
