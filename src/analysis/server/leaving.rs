//! Clients who left before their answer was complete, and what the server did for nobody.

use serde::Serialize;

use super::track::FollowedGauge;
use crate::analysis::load::rates::InFlight;
use crate::analysis::requests::{Measured, Observed};
use crate::record::{Gauge, Outcome};

/// Requests of the window whose clients were to leave. They have no latency and no SLO, whether they left or not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeavingFigures {
    /// Requests whose clients were to leave.
    pub requests: u64,
    /// Requests of them whose clients left before the answer was complete.
    pub left: u64,
    /// Answer tokens that came for clients who then left.
    pub wasted_output_tokens: u64,
    /// Share of them in the answer tokens of the window's requests, between 0 and 1. Absent where none came.
    pub wasted_share: Option<f64>,
    /// Requests in the server beyond those for which a client waited. They run or wait; means over the window. Above 0
    /// the server goes on when a client leaves, or serves others too. Left out where it does not report them, and in a
    /// share of several generators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_requests: Option<f64>,
}

impl LeavingFigures {
    /// Counts those of a run. `None` where all clients were to stay.
    pub(crate) fn new(observed: &Observed<'_>, in_flight: Option<InFlight>) -> Option<Self> {
        let workload = &observed.log.header.workload;
        workload.classes.iter().find_map(|class| class.cancel)?;
        let mut found = Self { requests: 0, left: 0, wasted_output_tokens: 0, wasted_share: None, held_requests: None };
        let mut tokens = 0;
        for record in observed.requests.iter().map(Measured::record) {
            tokens += record.output_tokens;
            found.requests += u64::from(record.leaves);
            if record.outcome == Outcome::Cancelled {
                found.left += 1;
                found.wasted_output_tokens += record.output_tokens;
            }
        }
        found.wasted_share = (tokens > 0).then(|| found.wasted_output_tokens as f64 / tokens as f64);
        // The requests in the server are those of all generators.
        found.held_requests = in_flight.filter(|_| observed.log.header.shard.is_none()).and_then(|in_flight| {
            let window = (observed.start.as_secs_f64(), observed.answers_end.as_secs_f64());
            let mean = |gauge| FollowedGauge::new(observed.log, gauge)?.over(window);
            let waiting = mean(Gauge::Waiting).unwrap_or(0.0);
            Some(mean(Gauge::Running)? + waiting - in_flight.mean)
        });
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{Reading, RunLog};
    use crate::workload::Leaving;

    /// Ten requests, one each 100 ms, that take 500 ms. The client of every second one leaves after 100 ms, with two
    /// tokens. The server reports `running` requests throughout.
    fn left(running: f64) -> RunLog {
        let records = (0..10).map(|i| {
            let at = i * 100;
            let begun = record(i).sent_at(at, at, at);
            let mut record = begun.clone().paced(at + 50, 50, 10).build();
            if i % 2 == 0 {
                record = begun.paced(at + 50, 50, 2).build();
                (record.outcome, record.leaves, record.finish_reason) = (Outcome::Cancelled, true, None);
            }
            record
        });
        let mut log = run(1_000, records.collect());
        log.header.workload.classes[0].cancel = Some(Leaving { share: 0.5, after_s: Some(0.1), after_tokens: None });
        let reading = |second: u64| Reading {
            asked: crate::analysis::test_runs::ms(second * 500),
            answered: crate::analysis::test_runs::ms(second * 500),
            gauges: [(Gauge::Running, running), (Gauge::Waiting, 0.0)].into(),
            ..Reading::default()
        };
        log.telemetry.readings = (0..=2).map(reading).collect();
        log
    }

    #[test]
    fn who_left_is_counted_and_has_no_latency() {
        let summary = summarise(&left(2.0), &[]);
        let found = summary.leaving.unwrap();
        assert_eq!((found.requests, found.left, found.wasted_output_tokens), (5, 5, 10));
        assert_eq!(found.wasted_share, Some(10.0 / 60.0));
        assert_eq!((summary.requests.completed, summary.requests.cancelled, summary.requests.failed), (5, 5, 0));
        let row = summary.latency.row(crate::analysis::Metric::Ttft).unwrap();
        assert_eq!((row.n, row.max.exact()), (5, Some(50.0)));
        assert_eq!(summary.slo.with_slo, if summary.slo.declared { 5 } else { 0 });
        assert!(!summary.findings.iter().any(|finding| finding.kind == FindingKind::HeldForNobody));
    }

    #[test]
    fn a_server_that_goes_on_for_nobody_is_found_by_what_it_runs() {
        let summary = summarise(&left(40.0), &[]);
        let held = summary.leaving.unwrap().held_requests.unwrap();
        assert!((held - (40.0 - summary.in_flight.unwrap().mean)).abs() < 1e-9, "{held}");
        let found = summary.findings.iter().find(|finding| finding.kind == FindingKind::HeldForNobody);
        assert!(found.unwrap().sentence.contains("for nobody"), "{found:?}");
    }
}
