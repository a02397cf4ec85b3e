//! Counts the requests that met their SLO.

use serde::Serialize;

use crate::analysis::requests::{AnswerFault, Measured, Observed, SloOutcome, answered};

/// Attainment of the SLO by the requests that have one. A request without an SLO cannot miss it, and counted as met it
/// would hide misses.
///
/// Where any request of the run has an SLO, one that left no record counts as a miss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attainment {
    /// Whether any request counted here had a bound to meet.
    pub declared: bool,
    /// Requests scheduled in the window, whatever their outcome.
    pub scheduled: u64,
    /// Requests of them that had a bound to meet: the denominator.
    pub with_slo: u64,
    /// Requests with an SLO that completed and met every bound. Absent when a bound cannot be measured, as TTFT and
    /// TPOT of answers that are not streamed.
    pub met: Option<u64>,
    /// Share `met / with_slo`, between 0 and 1. Absent when `met` is, or no request has an SLO.
    pub slo_attainment: Option<f64>,
    /// `met` per second, without those whose answers are wrong. It is of the same requests as the attainment. Absent
    /// when `met` is, or no request has an SLO. Where no request of the whole run has one: completed requests per
    /// second, again without wrong answers.
    pub goodput_per_s: Option<f64>,
    /// Completed requests over their TTFT bound, or without a TTFT to compare with it. Absent when a bound cannot be
    /// measured.
    pub over_ttft: Option<u64>,
    /// Completed requests over their TPOT bound; absent when a bound cannot be measured.
    pub over_tpot: Option<u64>,
    /// Completed requests over their e2e bound.
    pub over_e2e: u64,
    /// Completed requests whose answers are not of the form that their SLO asks for.
    pub of_another_form: u64,
    /// Completed requests whose answers are wrong, which goodput does not count. Left out where there are none.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub wrong: u64,
    /// Requests with an SLO that did not complete.
    pub not_completed: u64,
}

impl Attainment {
    /// Counts how many of `requests` met their SLO. They are out of `scheduled` ones (more than there are where some
    /// left no record); `is_one` says which of the requests of other phases are like them.
    pub(crate) fn new(
        observed: &Observed<'_>,
        scheduled: u64,
        requests: &[&Measured<'_>],
        is_one: impl Fn(&Measured<'_>) -> bool,
    ) -> Self {
        let outcomes = || requests.iter().map(|request| request.slo);
        let count = |test: fn(&SloOutcome) -> bool| outcomes().filter(test).count() as u64;
        let measurable = outcomes().all(|slo| slo.measurable);
        let known = |test| measurable.then(|| count(test));
        let lost = if observed.has_slos { scheduled - requests.len() as u64 } else { 0 };
        let with_slo = count(|slo| slo.declared) + lost;
        let met = known(|slo| slo.declared && slo.met());
        let others = observed.others.iter().filter(|other| is_one(other));
        let completed = requests
            .iter()
            .copied()
            .chain(others)
            .filter(|request| answered(&request.record()).is_some_and(|at| observed.counts_answer(at)))
            .filter(|request| !request.record().is_wrong());
        let wrong = requests.iter().filter(|request| request.record().is_wrong());
        let met_wrongly = wrong.clone().filter(|request| request.slo.declared && request.slo.met()).count() as u64;
        let good = if observed.has_slos {
            met.filter(|_| with_slo > 0).map(|met| met - met_wrongly)
        } else {
            Some(completed.count() as u64)
        };
        Self {
            declared: with_slo > 0,
            scheduled,
            with_slo,
            met,
            slo_attainment: met.filter(|_| with_slo > 0).map(|met| met as f64 / with_slo as f64),
            goodput_per_s: good.and_then(|good| observed.answers_per_second(good as f64)),
            over_ttft: known(|slo| slo.broken.is_some_and(|broken| broken.ttft)),
            over_tpot: known(|slo| slo.broken.is_some_and(|broken| broken.tpot)),
            over_e2e: count(|slo| slo.broken.is_some_and(|broken| broken.e2e)),
            of_another_form: count(|slo| slo.broken.is_some() && slo.fault == Some(AnswerFault::Form)),
            wrong: wrong.count() as u64,
            not_completed: with_slo - count(|slo| slo.declared && slo.broken.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::Figure;
    use crate::analysis::judgements::{FindingKind, Status};
    use crate::analysis::parts::part::Part;
    use crate::analysis::requests::RequestLatency;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, ms, record, run};
    use crate::record::{PartKind, Phase};
    use crate::workload::{Priority, Slo};

    fn latency(ttft: Option<f64>, tpot: Option<f64>, e2e: Option<f64>) -> RequestLatency {
        let exact = |value: Option<f64>| value.map(Figure::Exact);
        RequestLatency { ttft: exact(ttft), tpot: exact(tpot), e2e: exact(e2e), ..RequestLatency::default() }
    }

    #[test]
    fn every_bound_must_hold_and_bounds_are_inclusive() {
        let slo = Slo { ttft_ms: Some(200.0), tpot_ms: Some(50.0), e2e_ms: None };
        let met = |ttft, tpot| SloOutcome::new(slo, Some(&latency(ttft, tpot, Some(1e9)))).met();
        assert!(met(Some(200.0), Some(50.0)));
        assert!(!met(Some(200.1), Some(50.0)));
        assert!(!met(Some(100.0), Some(50.1)));
        assert!(met(Some(100.0), None), "one token: nothing comes after the first");
        assert!(!met(None, None), "not streamed: unknown is not met");
    }

    #[test]
    fn a_bound_that_cannot_be_measured_leaves_attainment_open() {
        let records = (0..4).map(|i| {
            let record = record(i).sent_at(0, 0, 1).whole_answer(500 + i * 100, 20);
            record.class(u16::from(i > 1), Priority::High).build()
        });
        let mut log = run(2_000, records.collect());
        log.header.engines[0].streamed = false;
        let slo = |ttft_ms, e2e_ms| Slo { ttft_ms, tpot_ms: None, e2e_ms };
        log.header.workload.classes = vec![
            class("chat", &[(Priority::High, slo(Some(200.0), Some(550.0)))]),
            class("batch", &[(Priority::High, slo(None, Some(700.0)))]),
        ];
        let summary = summarise(&log, &["goodput > 0/s".parse().unwrap()]);
        assert_eq!((summary.slo.met, summary.slo.slo_attainment, summary.slo.goodput_per_s), (None, None, None));
        assert_eq!((summary.slo.over_ttft, summary.slo.over_tpot, summary.slo.over_e2e), (None, None, 2));
        assert_eq!(summary.parts[0].slo.slo_attainment, None);
        assert_eq!(summary.parts[1].slo.slo_attainment, Some(0.5));
        assert_eq!(summary.objectives[0].status, Status::Undecided);
        assert!(summary.findings.iter().any(|finding| finding.kind == FindingKind::UnmeasurableSlo));
    }

    #[test]
    fn a_neighbour_who_is_promised_nothing_does_not_hide_a_victim() {
        // Two requests are with_slo 10 ms and wait for 100; two are with_slo nothing and complete.
        let records =
            (0..4).map(|i| record(i).class((i % 2) as u16, Priority::High).sent_at(0, 0, 0).paced(100, 10, 10).build());
        let mut log = run(1_000, records.collect());
        let tight = Slo { ttft_ms: Some(10.0), ..Slo::default() };
        let promise = |slo| class("chat", &[(Priority::High, slo)]);
        log.header.workload.classes = vec![promise(tight), promise(Slo::default())];
        let demands = ["slo_attainment > 40%", "goodput > 1/s"].map(|text| text.parse().unwrap());
        let summary = summarise(&log, &demands);
        let slo = summary.slo;
        assert_eq!((slo.scheduled, slo.with_slo, slo.met), (4, 2, Some(0)));
        assert_eq!((slo.slo_attainment, slo.goodput_per_s), (Some(0.0), Some(0.0)));
        assert_eq!(summary.objectives.iter().map(|o| o.status).collect::<Vec<_>>(), [Status::Missed; 2]);
        let free = summary.parts[1].slo;
        assert_eq!((free.declared, free.with_slo, free.met), (false, 0, Some(0)));
        assert_eq!((free.slo_attainment, free.goodput_per_s), (None, None));

        // Where nobody is with_slo anything there is nothing to attain, and goodput counts what completed.
        log.header.workload.classes = vec![promise(Slo::default()), promise(Slo::default())];
        let summary = summarise(&log, &demands);
        assert_eq!((summary.slo.with_slo, summary.slo.slo_attainment), (0, None));
        assert_eq!((summary.slo.goodput_per_s, summary.parts[1].slo.goodput_per_s), (Some(4.0), Some(2.0)));
        assert_eq!(summary.objectives[0].status, Status::Undecided);
    }

    #[test]
    fn goodput_and_attainment_are_of_the_same_requests() {
        // Two a second, each 1.2 s long, and a window from 1 to 4 s: of its six requests two end after it,
        // and one of the warm-up ends in it. Goodput is of the requests of attainment: those of the window.
        let phase = |i| match i {
            0 => Phase::Warmup,
            1..=6 => Phase::Measured,
            _ => Phase::Cooldown,
        };
        let records = (0..9).map(|i| {
            let at = 500 + i * 500;
            let priority = if i % 3 == 0 { Priority::High } else { Priority::Low };
            let answer = record(i).phase(phase(i)).class(0, priority).sent_at(at, at, at);
            answer.paced(at + 1_100, 100, 2).build()
        });
        let mut log = run(4_000, records.collect());
        log.header.plan.window_start = ms(1_000);
        (log.header.plan.warmup_requests, log.header.plan.measured_requests) = (1, 6);
        let summary = summarise(&log, &[]);
        let goodput = |part: &Part| part.slo.goodput_per_s.unwrap();
        assert_eq!(summary.rates.completed_requests_per_s, Some(5.0 / 3.0));
        assert_eq!(summary.slo.goodput_per_s, Some(5.0 / 3.0));
        assert_eq!(goodput(&summary.parts[0]), 5.0 / 3.0);

        // A bound that those of high priority meet: the one of the warm-up, one that ended in the window, one after it.
        let bound = |e2e_ms| Slo { e2e_ms: Some(e2e_ms), ..Slo::default() };
        let bounds = [(Priority::High, bound(1_300.0)), (Priority::Low, bound(1_100.0))];
        log.header.workload.classes = vec![class("chat", &bounds)];
        let summary = summarise(&log, &[]);
        assert_eq!((summary.slo.met, summary.slo.with_slo, summary.slo.goodput_per_s), (Some(2), 6, Some(2.0 / 3.0)));
        let by_priority: Vec<_> = summary.parts_of(PartKind::Priority).into_iter().map(goodput).collect();
        assert_eq!(by_priority, [2.0 / 3.0, 0.0]);

        // A warm-up whose answers met the bound, in a window whose own requests all missed it.
        log.records[0].chunks = record(0).paced(1_050, 10, 2).build().chunks;
        let tight = bound(600.0);
        log.header.workload.classes = vec![class("chat", &[(Priority::High, tight), (Priority::Low, tight)])];
        let summary = summarise(&log, &[]);
        assert_eq!((summary.slo.slo_attainment, summary.slo.goodput_per_s), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn a_request_without_a_record_is_a_broken_promise() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 10).build()]);
        log.header.plan.measured_requests = 2;
        let bounds = Slo { ttft_ms: Some(200.0), ..Slo::default() };
        log.header.workload.classes = vec![class("chat", &[(Priority::High, bounds)])];
        log.records[0].priority = Priority::High;
        let slo = summarise(&log, &[]).slo;
        assert_eq!((slo.with_slo, slo.met, slo.slo_attainment, slo.not_completed), (2, Some(1), Some(0.5), 1));
    }

    #[test]
    fn only_completed_requests_meet_an_slo_even_an_empty_one() {
        assert!(SloOutcome::new(Slo::default(), Some(&latency(None, None, Some(5.0)))).met());
        assert!(!SloOutcome::new(Slo::default(), None).met());
    }
}
