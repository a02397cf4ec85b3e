//! The phases of a load, and what the load was in each: base, burst and after, or stage by stage.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::load::stretches::{LoadTimeline, PhaseOfLoad, changing};
use crate::analysis::requests::Observed;
use crate::workload::ArrivalPattern;

/// Load in one of its phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseLoad {
    /// How much of the window the load was in this phase, seconds.
    pub seconds: f64,
    /// Requests that came due in it, per second of it.
    pub scheduled_per_s: Option<f64>,
    /// Declared rate at the beginning of a stage, requests per second. Left out of other phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_rate_per_s: Option<f64>,
    /// Declared rate at the end of a stage, requests per second. Left out of other phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_rate_per_s: Option<f64>,
}

/// Returns the phases, each with its name and its load without requests. Their order is base, burst, after, or the
/// stages as they come. Empty for loads without bursts, spikes and stages, and where the window has one phase only.
pub(super) fn phases(observed: &Observed<'_>, timeline: &LoadTimeline) -> Vec<(PhaseOfLoad, String, PhaseLoad)> {
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
mod tests {
    //! Phases of a load, counted by hand.

    use crate::analysis::figures::{Figure, Metric, Quantile};
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::{Failure, FailureKind, PartKind, RunLog};
    use crate::workload::{ArrivalPattern, Priority, RateStage, Slo};

    /// A request every second that waits for so many ms as it is scheduled at.
    fn each_second(seconds: u64, ttft: impl Fn(u64) -> u64) -> RunLog {
        let records = (0..seconds).map(|i| {
            let at = i * 1_000;
            record(i).sent_at(at, at, at).paced(at + ttft(i), 10, 11).build()
        });
        let mut log = run(seconds * 1_000, records.collect());
        let slo = Slo { ttft_ms: Some(500.0), ..Slo::default() };
        log.header.workload.classes = vec![class("chat", &[(Priority::High, slo)])];
        log
    }

    #[test]
    fn requests_are_grouped_by_the_phase_that_they_come_in() {
        // Base 0–6, burst 6–8, after 8–10, base 10–14, burst 14–16, after 16–18, base 18–20.
        let wait = |second: u64| match second % 8 {
            6 | 7 => 900,
            0 | 1 if second >= 8 => 300,
            _ => 100,
        };
        let mut log = each_second(20, wait);
        log.header.workload.arrival =
            ArrivalPattern::Bursts { base_rate_per_s: 1.0, burst_rate_per_s: 2.0, base_s: 6.0, burst_s: 2.0 };
        let refused = Failure::new(FailureKind::HttpStatus(503), "busy");
        log.records[7] = record(7).sent_at(7_000, 7_000, 7_000).failed(7_020, refused).build();
        let summary = summarise(&log, &[]);
        let phases = summary.parts_of(PartKind::Phase);
        let found: Vec<_> =
            phases.iter().map(|phase| (phase.name.as_str(), phase.load.unwrap().seconds, phase.requests)).collect();
        assert_eq!(found, [("base", 12.0, 12), ("burst", 4.0, 4), ("after_burst", 4.0, 4)]);
        let median = |place: usize| phases[place].latency.percentile(Metric::Ttft, Quantile::P50).unwrap().figure;
        assert_eq!((median(0), median(2)), (Figure::Exact(100.0), Figure::Exact(300.0)));
        let burst = &phases[1];
        assert_eq!((burst.completed, burst.failed, burst.error_rate), (3, 1, Some(0.25)));
        assert_eq!((burst.slo.slo_attainment, phases[0].slo.slo_attainment), (Some(0.0), Some(1.0)));
        assert_eq!((burst.load.unwrap().scheduled_per_s, burst.load.unwrap().from_rate_per_s), (Some(1.0), None));
    }

    #[test]
    fn each_stage_is_a_phase() {
        let mut log = each_second(30, |second| 100 * (1 + second / 10));
        let ramp = RateStage { duration_s: 10.0, from_rate_per_s: 1.0, to_rate_per_s: 3.0 };
        let stages = vec![RateStage::level(10.0, 1.0), ramp];
        log.header.workload.arrival = ArrivalPattern::Stages { stages };
        let summary = summarise(&log, &[]);
        let phases = summary.parts_of(PartKind::Phase);
        // Inside one of the classes they are the same.
        let steady = ArrivalPattern::Poisson { rate_per_s: 1.0 };
        let classes = vec![log.header.workload.arrival.clone(), steady];
        log.header.workload.arrival = ArrivalPattern::ByClass { classes };
        assert_eq!(summarise(&log, &[]).parts_of(PartKind::Phase), phases);
        let found: Vec<_> = phases
            .iter()
            .map(|phase| (phase.name.as_str(), phase.requests, phase.load.unwrap()))
            .map(|(name, requests, load)| (name, requests, load.from_rate_per_s, load.to_rate_per_s))
            .collect();
        let rates = [(Some(1.0), Some(1.0)), (Some(1.0), Some(3.0)), (None, None)];
        let [first, second, rest] = rates;
        assert_eq!(
            found,
            [
                ("stage_1", 10, first.0, first.1),
                ("stage_2", 10, second.0, second.1),
                ("after_stages", 10, rest.0, rest.1),
            ]
        );
        let mean = |place: usize| phases[place].latency.row(Metric::Ttft).unwrap().mean_ms.unwrap();
        assert_eq!([mean(0), mean(1), mean(2)], [100.0, 200.0, 300.0]);
    }

    #[test]
    fn a_load_without_phases_in_its_window_has_none() {
        assert!(summarise(&each_second(20, |_| 100), &[]).parts_of(PartKind::Phase).is_empty());
        let mut log = each_second(5, |_| 100);
        log.header.workload.arrival =
            ArrivalPattern::Bursts { base_rate_per_s: 1.0, burst_rate_per_s: 2.0, base_s: 6.0, burst_s: 2.0 };
        assert!(summarise(&log, &[]).parts_of(PartKind::Phase).is_empty(), "the window ends before the first burst");
    }
}
