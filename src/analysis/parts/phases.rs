//! The phases of a load, and what the load was in each: base, burst and after, or stage by stage.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::load::stretches::{LoadTimeline, PhaseOfLoad, changing};
use crate::analysis::requests::observed::Observed;
use crate::workload::ArrivalPattern;

/// What the load was in one of its phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseLoad {
    /// How much of the window the load was in this phase, seconds.
    pub seconds: f64,
    /// Requests that came due in it, per second of it.
    pub scheduled_per_s: Option<f64>,
    /// Declared rate at the beginning of a stage, requests per second; left out of other phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_rate_per_s: Option<f64>,
    /// Declared rate at the end of a stage, requests per second; left out of other phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_rate_per_s: Option<f64>,
}

/// Phases, each with its name and its load without requests, in this order: base, burst, after, or the stages as they
/// come. Empty for loads without bursts, spikes and stages, and where the window has one phase only.
pub(super) fn phases(
    observed: &Observed<'_>,
    timeline: &LoadTimeline,
) -> Vec<(PhaseOfLoad, String, PhaseLoad)> {
    let (start_s, end_s) = (observed.start.as_secs_f64(), observed.end.as_secs_f64());
    let mut seconds: BTreeMap<PhaseOfLoad, f64> = BTreeMap::new();
    for stretch in &timeline.stretches {
        let inside = stretch.until_s.min(end_s) - stretch.from_s.max(start_s);
        if inside > 0.0 {
            *seconds.entry(stretch.phase).or_default() += inside;
        }
    }
    if seconds.len() < 2 {
        return Vec::new();
    }
    let stages = match changing(&observed.log.header.workload.arrival) {
        Some(ArrivalPattern::Stages { stages }) => stages.as_slice(),
        _ => &[],
    };
    let named = |(phase, seconds): (PhaseOfLoad, f64)| {
        let stage = if let PhaseOfLoad::Stage(place) = phase { stages.get(place) } else { None };
        let name = match phase {
            PhaseOfLoad::Base => "base".to_owned(),
            PhaseOfLoad::Burst => "burst".to_owned(),
            PhaseOfLoad::AfterBurst => "after_burst".to_owned(),
            PhaseOfLoad::Dip => "dip".to_owned(),
            PhaseOfLoad::Stage(place) if place >= stages.len() => "after_stages".to_owned(),
            PhaseOfLoad::Stage(place) => format!("stage_{}", place + 1),
        };
        let load = PhaseLoad {
            seconds,
            scheduled_per_s: None,
            from_rate_per_s: stage.map(|stage| stage.from_rate_per_s),
            to_rate_per_s: stage.map(|stage| stage.to_rate_per_s),
        };
        (phase, name, load)
    };
    seconds.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests;
