//! Objectives held against runs.

use super::*;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{class, record, run};
use crate::workload::Priority;

fn line(objective: &str, log: &crate::record::RunLog) -> String {
    let objective = objective.parse().unwrap();
    summarise(log, &[objective]).objectives.remove(0).line
}

#[test]
fn figures_are_held_against_their_bounds() {
    let records = (0..4).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + 200 + i * 100, 10, 11).build()
    });
    let log = run(1_000, records.collect());
    for (objective, expected) in [
        ("p50 ttft < 500ms", "cannot tell: p50 ttft < 500ms (was 350 ms; 1 of 4 requests over; too few to tell)"),
        ("max ttft < 500ms", "missed: max ttft < 500ms (was 500 ms)"),
        ("max ttft <= 500ms", "met: max ttft <= 500ms (was 500 ms)"),
        ("mean itl <= 10ms", "met: mean itl <= 10ms (was 10.0 ms)"),
        ("error_rate < 1%", "met: error_rate < 1% (was 0 %)"),
        ("goodput > 5/s", "missed: goodput > 5/s (was 4.00/s)"),
        ("p95 queue_wait < 1s", "cannot tell: p95 queue_wait < 1s (no such figure in this run)"),
    ] {
        assert_eq!(line(objective, &log), expected);
    }
}

#[test]
fn a_limit_decides_only_what_it_can() {
    let mut records: Vec<_> = (0..3).map(|i| record(i).sent_at(0, 0, 0).paced(100, 10, 11).build()).collect();
    records.push(record(3).sent_at(0, 0, 0).censored(5_000).build());
    let log = run(1_000, records);
    for (objective, expected) in [
        ("max ttft < 5s", "missed: max ttft < 5s (was over 5,000 ms)"),
        ("max ttft < 9s", "cannot tell: max ttft < 9s (was over 5,000 ms)"),
        ("max ttft > 4s", "met: max ttft > 4s (was over 5,000 ms)"),
        ("mean ttft < 9s", "cannot tell: mean ttft < 9s (no such figure in this run)"),
    ] {
        assert_eq!(line(objective, &log), expected);
    }
}

/// TTFT 1 … `n` ms in no order, the requests a millisecond apart.
fn shuffled(n: u64) -> Vec<crate::record::RequestRecord> {
    let ttft = |i: u64| 1 + (i * 337) % n;
    (0..n).map(|i| record(i).sent_at(i, i, i).paced(i + ttft(i), 10, 11).build()).collect()
}

#[test]
fn one_request_censored_early_decides_nothing_about_the_median() {
    // One request that the end of the run cut off 2 ms after its moment.
    let mut records = shuffled(546);
    records.push(record(546).sent_at(998, 998, 998).censored(1_000).build());
    let log = run(1_000, records);
    for (objective, expected) in [
        ("p50 ttft < 350ms", "met: p50 ttft < 350ms (was between 273 ms and 274 ms)"),
        ("p50 ttft < 200ms", "missed: p50 ttft < 200ms (was between 273 ms and 274 ms)"),
        (
            "p50 ttft < 274ms",
            "cannot tell: p50 ttft < 274ms (was between 273 ms and 274 ms; 274 of 547 requests over or cut off; too \
             close",
        ),
        ("p50 ttft > 200ms", "met: p50 ttft > 200ms (was between 273 ms and 274 ms)"),
        ("p50 ttft >= 350ms", "missed: p50 ttft >= 350ms (was between 273 ms and 274 ms)"),
    ] {
        let said = line(objective, &log);
        assert!(said.starts_with(expected.trim_end_matches(')')), "{said}");
    }
}

#[test]
fn a_percentile_is_judged_by_how_many_requests_are_over_the_bound() {
    let log = run(500, shuffled(500));
    let objective = |text: &str| summarise(&log, &[text.parse().unwrap()]).objectives.remove(0);
    for (text, expected) in [
        ("p50 ttft < 400ms", "met: p50 ttft < 400ms (was 250 ms)"),
        ("p95 ttft < 490ms", "met: p95 ttft < 490ms (was 475 ms)"),
        ("p95 ttft < 400ms", "missed: p95 ttft < 400ms (was 475 ms)"),
        (
            "p50 ttft < 251ms",
            "cannot tell: p50 ttft < 251ms (was 250 ms; 250 of 500 requests over, worth 368 independent ones; too \
             close to the bound to tell)",
        ),
        ("p50 ttft > 400ms", "missed: p50 ttft > 400ms (was 250 ms)"),
        ("p50 ttft > 100ms", "met: p50 ttft > 100ms (was 250 ms)"),
    ] {
        assert_eq!(objective(text).line, expected);
    }
    let open = objective("p99 ttft < 499ms");
    let needed = open.needed_requests.unwrap();
    assert!((600..1_200).contains(&needed), "{needed}");
    let expected = format!(
        "cannot tell: p99 ttft < 499ms (was 495 ms; 2 of 500 requests over, worth 474 independent ones; would take \
         about {} requests)",
        count(needed)
    );
    assert_eq!((open.line, open.over_share), (expected, Some(0.004)));
    // The same requests, one after the other, asked later about an objective with which they were not
    // summarised: by the interval.
    let apart = |i: u64| {
        let at = 1_000 * i;
        record(i).sent_at(at, at, at).paced(at + 1 + (i * 337) % 500, 10, 11).build()
    };
    let summary = summarise(&run(500_000, (0..500).map(apart).collect()), &[]);
    let later = |text: &str| text.parse::<Objective>().unwrap().evaluate(&summary);
    assert_eq!(later("p50 ttft < 400ms").status, Status::Met);
    assert_eq!(later("p50 ttft < 100ms").status, Status::Missed);
    let inside = later("p50 ttft < 251ms");
    assert_eq!((inside.status, inside.over_share), (Status::Undecided, None));
    assert!(inside.line.contains("(was 250 ms; 95 % interval 2"), "{}", inside.line);
}

/// A pace of tokens that drifts slowly. The requests do not wait for one another.
#[test]
fn far_from_the_bound_a_slow_drift_of_the_pace_decides_nothing() {
    let paced = |i: u64| {
        let first = i * 20 + 1 + (i * 337) % 800;
        record(i).sent_at(i * 20, i * 20, i * 20).paced(first, 25 + i / 200, 11).build()
    };
    let log = run(16_000, (0..800).map(paced).collect());
    for quantile in ["p50", "p95", "p99"] {
        let status = |bound: u64| {
            let said = line(&format!("{quantile} tpot < {bound}ms"), &log);
            said.split(':').next().unwrap().to_owned()
        };
        assert_eq!([60, 10].map(status), ["met", "missed"], "{quantile}");
    }
    let near = line("p50 tpot < 27ms", &log);
    assert!(near.starts_with("cannot tell") && near.contains("400 of 800 requests over, worth "), "{near}");
}

#[test]
fn a_smoke_run_cannot_tell_a_tail_and_says_what_would() {
    let records = (0..20).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + 50 + (i * 7) % 20, 10, 11).build()
    });
    let said = line("p99 ttft < 500ms", &run(2_000, records.collect()));
    assert!(said.starts_with("cannot tell: p99 ttft < 500ms (was 68.8 ms"), "{said}");
    assert!(said.contains("; 0 of 20 requests over; would take about ") && said.ends_with(" more)"), "{said}");
}

#[test]
fn latencies_that_a_request_has_many_of_are_judged_by_their_interval() {
    let records =
        (0..400).map(|i| record(i).sent_at(i * 20, i * 20, i * 20).paced(i * 20 + 50, 10 + (i * 181) % 11, 11).build());
    let log = run(8_000, records.collect());
    assert_eq!(line("p50 itl < 20ms", &log), "met: p50 itl < 20ms (was 15.0 ms)");
    assert_eq!(line("p50 itl < 12ms", &log), "missed: p50 itl < 12ms (was 15.0 ms)");
    let open = line("p50 itl < 15ms", &log);
    assert!(open.starts_with("cannot tell: p50 itl < 15ms (was 15.0 ms; 95 % interval 1"), "{open}");
}

/// Latencies that grow as long as the run lasts. Their dependence on one another does not excuse the run.
#[test]
fn a_server_that_does_not_keep_up_misses_what_the_run_misses() {
    let records = (0..300).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + 100 + i * 80, 10, 11).build()
    });
    let log = run(30_000, records.collect());
    let objective = |text: &str| text.parse::<Objective>().unwrap();
    let summary = summarise(&log, &["p50 ttft < 5s", "p50 ttft < 1min"].map(objective));
    assert!(summary.verdict.is_overloaded(), "{:?}", summary.verdict);
    let status: Vec<_> = summary.objectives.iter().map(|judged| judged.status).collect();
    assert_eq!(status, [Status::Missed, Status::Undecided]);
}

#[test]
fn what_is_over_the_bound_is_counted() {
    // First tokens after 100, 200, … 500 ms; the last request is cut off after 300 ms without one.
    let mut records: Vec<_> = (0..5)
        .map(|i| record(i).class(u16::from(i > 2), Priority::High).sent_at(0, 0, 0).paced(100 + i * 100, 10, 3).build())
        .collect();
    records.push(record(5).class(1, Priority::High).sent_at(0, 0, 0).censored(300).build());
    let mut log = run(1_000, records);
    log.header.workload.classes = vec![class("chat", &[]), class("batch", &[])];
    let over = |text: &str| {
        let objective: Objective = text.parse().unwrap();
        summarise(&log, &[objective]).objectives[0].over_share
    };
    assert_eq!(over("p99 ttft < 450ms"), Some(2.0 / 6.0));
    assert_eq!(over("p50 ttft < 300ms"), Some(4.0 / 6.0));
    assert_eq!(over("p50 ttft <= 300ms"), Some(3.0 / 6.0));
    assert_eq!(over("p50 ttft of chat <= 200ms"), Some(1.0 / 3.0));
    assert_eq!(over("p95 ttft of class batch < 450ms"), Some(2.0 / 3.0));
    for none in ["mean ttft < 1s", "p99 itl < 1s", "error_rate < 1%"] {
        assert_eq!(over(none), None, "{none}");
    }
}
