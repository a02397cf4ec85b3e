//! Whole runs, built moment by moment, whose summaries were computed by hand.

use std::time::Duration;

use super::run::Summary;
use crate::analysis::figures::{Figure, Metric, Quantile};
use crate::analysis::judgements::{FindingKind, Rule};
use crate::analysis::parts::part::Part;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{class, ms, record, run};
use crate::record::{Failure, FailureKind, PartKind, Phase, RunEnding, RunFooter, RunLog, Shard};
use crate::workload::{Priority, Slo};

fn rules(summary: &Summary) -> Vec<Rule> {
    summary.verdict.reasons.iter().map(|reason| reason.rule).collect()
}

fn kinds(summary: &Summary) -> Vec<FindingKind> {
    summary.findings.iter().map(|finding| finding.kind).collect()
}

/// Two classes, two priorities. `chat` (high 200 ms, medium 500 ms TTFT) and `batch` without an SLO.
fn mixed() -> RunLog {
    let ttft = |bound| Slo { ttft_ms: Some(bound), ..Slo::default() };
    let failure = Failure::new(FailureKind::HttpStatus(503), "busy");
    let mut log = run(
        10_000,
        vec![
            record(0).phase(Phase::Warmup).sent_at(0, 0, 0).paced(9_000, 1, 1).build(),
            record(1).sent_at(1_000, 1_000, 1_001).paced(1_150, 20, 11).build(),
            record(2).sent_at(2_000, 2_000, 2_001).paced(2_300, 20, 11).build(),
            record(3).class(0, Priority::Medium).sent_at(3_000, 3_000, 3_001).paced(3_300, 20, 11).build(),
            record(4).class(0, Priority::Medium).sent_at(4_000, 4_000, 4_001).failed(4_010, failure).build(),
            record(5).class(1, Priority::Low).sent_at(5_000, 5_000, 5_001).paced(5_900, 20, 11).build(),
            record(6).class(1, Priority::Low).sent_at(6_000, 6_000, 6_001).censored(40_000).build(),
        ],
    );
    log.header.workload.classes = vec![
        class("chat", &[(Priority::High, ttft(200.0)), (Priority::Medium, ttft(500.0))]),
        class("batch", &[(Priority::Low, Slo::default())]),
    ];
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    log
}

#[test]
fn every_planned_request_is_accounted_for() {
    let summary = summarise(&mixed(), &[]);
    let counts = summary.requests;
    assert_eq!((counts.planned, counts.completed, counts.failed, counts.censored), (6, 4, 1, 1));
    assert_eq!((counts.unrecorded, counts.unplanned, counts.never_due), (0, 0, 0));
}

#[test]
fn attainment_counts_every_promised_request() {
    let summary = summarise(&mixed(), &[]);
    assert_eq!((summary.slo.scheduled, summary.slo.with_slo, summary.slo.met), (6, 4, Some(2)));
    assert_eq!((summary.slo.over_ttft, summary.slo.not_completed), (Some(1), 1));
    assert_eq!((summary.slo.slo_attainment, summary.slo.goodput_per_s), (Some(0.5), Some(0.2)));
    let by = |kind| -> Vec<_> {
        summary
            .parts_of(kind)
            .into_iter()
            .map(|g| (g.name.clone(), g.slo.met, g.slo.with_slo, g.slo.declared))
            .collect()
    };
    assert_eq!(by(PartKind::Class), [("chat".to_owned(), Some(2), 4, true), ("batch".to_owned(), Some(0), 0, false)]);
    assert_eq!(
        by(PartKind::Priority),
        [
            ("high".to_owned(), Some(1), 2, true),
            ("medium".to_owned(), Some(1), 2, true),
            ("low".to_owned(), Some(0), 0, false)
        ]
    );
}

#[test]
fn a_time_limit_does_not_make_the_tail_shorter() {
    // 100 requests whose first tokens come after 100, 200, … 10,000 ms, under a limit of 9 s: the last ten never
    // arrive. Left out, they would turn a p95 of over 9 s into one of 8.5 s.
    let limit = || Failure::new(FailureKind::TimeoutFirstToken, "no more than 9 s allowed");
    let records = (0..100).map(|i| match (i + 1) * 100 {
        9_100.. => record(i).sent_at(0, 0, 0).failed(9_000, limit()).build(),
        first => record(i).sent_at(0, 0, 0).paced(first, 10, 2).build(),
    });
    let summary = summarise(&run(1_000, records.collect()), &[]);
    for metric in [Metric::Ttft, Metric::E2e] {
        let row = summary.latency.row(metric).unwrap();
        assert_eq!((row.n, row.censored, row.mean_ms), (100, 10, None));
        assert!(row.percentile(Quantile::P50).figure.exact().is_some());
        assert_eq!(row.percentile(Quantile::P95).figure, Figure::AtLeast(9_000.0));
    }
    assert_eq!((summary.requests.failed, summary.requests.censored), (10, 0), "they are failures all the same");
    assert_eq!(summary.failures.timeout_rate, Some(0.1));
}

#[test]
fn the_censored_stay_in_percentiles_and_the_failed_do_not() {
    let summary = summarise(&mixed(), &[]);
    let ttft = summary.latency.row(Metric::Ttft).unwrap();
    // 150, 300, 300, 900 and one over 34,000.
    assert_eq!((ttft.n, ttft.censored, ttft.mean_ms), (5, 1, None));
    assert_eq!(ttft.percentile(Quantile::P50).figure, Figure::Exact(300.0));
    assert_eq!(ttft.max, Figure::AtLeast(34_000.0));
    assert_eq!(summary.latency.row(Metric::ScheduleLag).unwrap().n, 6);
    assert_eq!(summary.latency.row(Metric::QueueWait), None);
    assert_eq!(summary.latency.row(Metric::Itl).unwrap().mean_ms, Some(20.0));
}

#[test]
fn an_error_rate_over_the_bar_is_invalid_unless_an_objective_judges_it() {
    let mut log = mixed();
    log.footer.as_mut().unwrap().ending = RunEnding::Finished;
    assert_eq!(rules(&summarise(&log, &[])), [Rule::ErrorRate]);
    let objective = "error_rate < 20%".parse().unwrap();
    let summary = summarise(&log, &[objective]);
    assert!(summary.verdict.valid);
    assert!(summary.objectives[0].passed());
}

#[test]
fn nothing_lost_nothing_doubled() {
    let mut lost = mixed();
    lost.records.remove(2);
    let summary = summarise(&lost, &[]);
    assert_eq!((summary.requests.unrecorded, summary.slo.scheduled), (1, 6));
    assert!(rules(&summary).contains(&Rule::Conservation));

    let mut doubled = mixed();
    let again = doubled.records[2].clone();
    doubled.records.push(again);
    let summary = summarise(&doubled, &[]);
    assert_eq!((summary.requests.unrecorded, summary.requests.unplanned), (0, 1));
    assert!(rules(&summary).contains(&Rule::Conservation));
}

#[test]
fn nothing_of_the_warm_up_is_lost_or_doubled_either() {
    // Four warm-up requests and six that count, one a second.
    let records = (0..10).map(|i| {
        let phase = if i < 4 { Phase::Warmup } else { Phase::Measured };
        record(i).phase(phase).sent_at(i * 1_000, i * 1_000, i * 1_000).paced(i * 1_000 + 100, 10, 11).build()
    });
    let mut sound = run(10_000, records.collect());
    sound.header.plan.window_start = ms(4_000);
    assert!(summarise(&sound, &[]).verdict.valid);
    let said = |log: &RunLog| {
        let summary = summarise(log, &[]);
        assert_eq!(rules(&summary), [Rule::Conservation, Rule::DeliveredArrivals]);
        (summary.requests, summary.verdict.reasons[0].sentence.clone())
    };
    let mut lost = sound.clone();
    lost.records.remove(2);
    let (counts, sentence) = said(&lost);
    assert_eq!((counts.warmup_unrecorded, counts.unrecorded), (1, 0));
    assert_eq!(sentence, "1 of 4 planned warm-up requests left no record (request 2); limit: none");
    let mut doubled = sound.clone();
    let again = doubled.records[2].clone();
    doubled.records.push(again);
    let (counts, sentence) = said(&doubled);
    assert_eq!((counts.warmup_unplanned, counts.unplanned), (1, 0));
    assert_eq!(sentence, "the log has 1 record more than the 4 planned warm-up requests; limit: none");
    // A run that was stopped in its warm-up lost nothing of what never came due.
    sound.records.truncate(3);
    let footer = sound.footer.as_mut().unwrap();
    (footer.released_until, footer.ending) = (ms(2_500), RunEnding::Interrupted);
    let counts = summarise(&sound, &[]).requests;
    assert_eq!((counts.warmup_unrecorded, counts.never_due, counts.unrecorded), (0, 6, 0));
}

#[test]
fn an_interrupted_run_is_about_what_was_flown() {
    // Ten planned, one a second; stopped just after the fourth had left.
    let mut records: Vec<_> = (0..3)
        .map(|i| record(i).sent_at(i * 1_000, i * 1_000, i * 1_000).paced(i * 1_000 + 100, 10, 11).build())
        .collect();
    records.push(record(3).scheduled(3_000).censored(3_500).build());
    let mut log = run(10_000, records);
    log.header.plan.measured_requests = 10;
    log.footer = Some(RunFooter {
        released_until: ms(3_400),
        ended: ms(3_500),
        ending: RunEnding::Interrupted,
        breaker: None,
        present_ns: None,
        sessions: None,
        client: None,
        server: None,
        addresses: Vec::new(),
        profile: None,
    });
    let summary = summarise(&log, &[]);
    assert_eq!(rules(&summary), [Rule::WholeWindow]);
    assert!(kinds(&summary).contains(&FindingKind::Interrupted));
    let counts = summary.requests;
    assert_eq!((counts.completed, counts.censored, counts.never_due, counts.unrecorded), (3, 1, 6, 0));
    assert!((summary.window.end_s - 3.4).abs() < 1e-6);
    assert_eq!(summary.slo.scheduled, 4);
    assert_eq!(summary.latency.row(Metric::Ttft).unwrap().n, 4);
}

#[test]
fn a_shard_that_was_stopped_lost_nothing_of_what_others_were_to_send() {
    // The second of two generators sent the requests at places 1, 3 and 5 of twenty, and was stopped: of its ten,
    // seven never came due. To a generator of the whole plan, places 0, 2 and 4 would be lost.
    let records =
        [1, 3, 5].map(|i| record(i).sent_at(i * 1_000, i * 1_000, i * 1_000).paced(i * 1_000 + 100, 10, 11).build());
    let mut log = run(20_000, records.into());
    log.header.plan.measured_requests = 10;
    log.header.shard = Some(Shard { number: 2, of: 2 });
    let footer = log.footer.as_mut().unwrap();
    (footer.released_until, footer.ending) = (ms(6_000), RunEnding::Interrupted);
    let counts = summarise(&log, &[]).requests;
    assert_eq!((counts.completed, counts.unrecorded, counts.never_due), (3, 0, 7));
    log.header.shard = None;
    assert_eq!(summarise(&log, &[]).requests.unrecorded, 3);
}

#[test]
fn an_interruption_in_the_drain_leaves_the_window_whole() {
    let mut log = mixed();
    log.footer.as_mut().unwrap().ending = RunEnding::Interrupted;
    let summary = summarise(&log, &[]);
    assert!(!summary.window.cut_short);
    assert_eq!(rules(&summary), [Rule::ErrorRate, Rule::SteadyState]);
}

#[test]
fn a_run_without_a_request_is_invalid_and_full_of_nothing() {
    let mut log = run(10_000, vec![]);
    let summary = summarise(&log, &[]);
    assert_eq!(rules(&summary), [Rule::MeasuredRequests]);
    assert_eq!((summary.failures.error_rate, summary.slo.slo_attainment), (None, None));
    log.footer = None;
    assert!(rules(&summarise(&log, &[])).contains(&Rule::MeasuredRequests));
}

#[test]
fn answers_that_are_not_streamed_have_no_token_latencies() {
    let mut log = run(
        1_000,
        vec![
            record(0).sent_at(0, 0, 1).whole_answer(500, 20).build(),
            record(1).sent_at(1, 1, 2).censored(900).build(),
        ],
    );
    log.header.engines[0].streamed = false;
    let summary = summarise(&log, &[]);
    for metric in [Metric::Ttft, Metric::TtftFromSend, Metric::Tpot, Metric::Itl, Metric::ChunkGap] {
        assert_eq!(summary.latency.row(metric), None, "{metric}");
    }
    assert_eq!(summary.latency.row(Metric::E2e).unwrap().n, 2);
    assert_eq!(summary.rates.output_tokens_per_s, Some(20.0));
}

#[test]
fn every_request_failed() {
    let failure = Failure::new(FailureKind::Connect, "connection refused");
    let log = run(1_000, vec![record(0).sent_at(0, 0, 0).failed(1, failure).build()]);
    let summary = summarise(&log, &[]);
    assert_eq!(rules(&summary), [Rule::SomethingCompleted]);
    let sentence = &summary.verdict.reasons[0].sentence;
    assert!(sentence.starts_with("none of 1 request completed: 1 failed, 0 censored; "), "{sentence}");
    assert!(sentence.contains("connect: connection refused"), "{sentence}");
    assert_eq!(summary.latency.row(Metric::E2e), None);
}

#[test]
fn a_run_in_which_nothing_completed_is_invalid_whatever_the_reason() {
    let records = (0..29).map(|i| record(i).sent_at(i, i, i).censored(30_000).build());
    let summary = summarise(&run(1_000, records.collect()), &[]);
    assert_eq!(rules(&summary), [Rule::SomethingCompleted]);
    let sentence = &summary.verdict.reasons[0].sentence;
    assert_eq!(sentence, "none of 29 requests completed: 0 failed, 29 censored");
}

#[test]
fn a_crash_loses_what_is_missing_before_the_last_record_and_nothing_after_it() {
    // One warm-up request and ten planned, one a second; the log ends while 3 and 5 are out: 6 came back last.
    let mut records = vec![record(0).phase(Phase::Warmup).sent_at(0, 0, 0).paced(100, 10, 11).build()];
    records.extend(
        [1, 2, 4, 6].map(|i| record(i).sent_at(i * 1_000, i * 1_000, i * 1_000).paced(i * 1_000 + 100, 10, 11).build()),
    );
    let mut log = run(11_000, records);
    log.header.plan.warmup_requests = 1;
    log.header.plan.measured_requests = 10;
    log.header.plan.window_start = ms(500);
    log.footer = None;
    let summary = summarise(&log, &[]);
    let counts = summary.requests;
    assert_eq!((counts.completed, counts.unrecorded, counts.never_due), (4, 2, 4));
    assert_eq!((summary.slo.scheduled, summary.requests.completed), (6, 4));
    assert!(summary.window.cut_short);
    assert_eq!(rules(&summary), [Rule::WholeWindow, Rule::Conservation]);
    // A cool-down request has left a record: the whole window had come.
    log.records.push(record(11).phase(Phase::Cooldown).sent_at(11_500, 11_500, 11_500).paced(11_600, 10, 11).build());
    let summary = summarise(&log, &[]);
    assert_eq!((summary.requests.unrecorded, summary.requests.never_due), (6, 0));
    assert!(!summary.window.cut_short);
}

#[test]
fn cut_off_answers_count_among_those_that_reasoned() {
    let mut thought = record(0).sent_at(0, 0, 0).paced(100, 10, 11).build();
    thought.first_answer = Some(ms(150));
    let cut = record(1).sent_at(0, 0, 0).censored(900).build();
    let begun = record(2).sent_at(0, 0, 0).paced(100, 10, 11).asked(50).censored(900).build();
    let ttfa = |records| summarise(&run(1_000, records), &[]).latency.row(Metric::Ttfa).cloned();
    // The one that had begun may have been in the middle of its answer.
    let row = ttfa(vec![thought, cut.clone(), begun]).unwrap();
    assert_eq!((row.n, row.censored, row.max), (2, 1, Figure::AtLeast(900.0)));
    assert_eq!(ttfa(vec![cut, record(0).sent_at(0, 0, 0).paced(100, 10, 11).build()]), None);
}

#[test]
fn a_summary_tells_what_was_asked_and_promised() {
    let summary = summarise(&mixed(), &[]);
    assert_eq!(summary.run.arrival, mixed().header.workload.arrival);
    let promised = |group: &Part| -> Vec<_> {
        group.slo_targets.iter().map(|promise| (promise.class.clone(), promise.priority, promise.slo.ttft_ms)).collect()
    };
    assert_eq!(
        promised(&summary.parts[0]),
        [("chat".to_owned(), Priority::High, Some(200.0)), ("chat".to_owned(), Priority::Medium, Some(500.0))]
    );
    assert_eq!(promised(summary.parts_of(PartKind::Priority)[2]), [("batch".to_owned(), Priority::Low, None)]);
}

#[test]
fn findings_name_what_is_off() {
    let mut records: Vec<_> =
        (0..50).map(|i| record(i).sent_at(i, i + 40, i + 40).paced(1_000 + i, 10, 4).usage(150, 9).build()).collect();
    for record in &mut records {
        record.output_tokens_asked = 20;
        record.merged_reads = 2;
        record.opened_connection = true;
        record.usage.as_mut().unwrap().cached_tokens = Some(75);
    }
    let mut log = run(500, records);
    let expected = [
        FindingKind::ClientLate,
        FindingKind::ShortWindow,
        FindingKind::NoSlo,
        FindingKind::OutputLength,
        FindingKind::PromptLength,
        FindingKind::TokenMismatch,
        FindingKind::MergedReads,
        FindingKind::WarmCache,
        FindingKind::ColdConnections,
    ];
    assert_eq!(kinds(&summarise(&log, &[])), expected);
    log.header.limits.max_concurrency = Some(4);
    for record in &mut log.records {
        record.admitted = Some(record.dispatched.after(Duration::from_millis(40)));
    }
    let capped = summarise(&log, &[]);
    assert_eq!(kinds(&capped)[..2], [FindingKind::CapBound, FindingKind::ClientLate]);
    assert_eq!(capped.latency.row(Metric::QueueWait).unwrap().max, Figure::Exact(40.0));
}

#[test]
fn a_sound_run_has_nothing_to_complain_of() {
    let slo = Slo { ttft_ms: Some(200.0), ..Slo::default() };
    let records: Vec<_> = (0..1_000)
        .map(|i| record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 100, 10, 20).usage(104, 20).build())
        .collect();
    let mut log = run(20_000, records);
    log.header.workload.classes = vec![class("chat", &[(Priority::High, slo)])];
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid, "{:?}", summary.verdict);
    assert_eq!(summary.findings, []);
    assert_eq!(summary.window.length_s(), ms(20_000).as_secs_f64());
}
