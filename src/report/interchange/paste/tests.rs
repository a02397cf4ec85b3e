//! Texts to paste.

use super::risk::{Risk, risk};
use super::*;
use crate::analysis::test_runs::{class, record, run};
use crate::record::RunLog;
use crate::report::sample_runs::{hostile, minute, report, slo, three};
use crate::workload::{ArrivalPattern, Priority, ThinkTime};

fn rated(log: &RunLog, objectives: &[&str]) -> (Risk, String) {
    let (rated, reasons) = report(log, objectives, |report| risk(report.summary));
    (rated, reasons.join("; "))
}

#[test]
fn the_percentile_block() {
    insta::assert_snapshot!(report(&minute(), &[], percentile_block));
}

#[test]
fn the_percentile_block_of_a_closed_loop_that_failed() {
    let mut log = three();
    log.header.workload.arrival = ArrivalPattern::of_users(32, ThinkTime::Constant { value: 0.0 });
    log.header.limits.max_concurrency = Some(8);
    insta::assert_snapshot!(report(&log, &[], percentile_block));
}

#[test]
fn the_fields_of_a_decision() {
    let mut log = minute();
    log.header.deployment.hardware = Some("h100".to_owned());
    log.header.deployment.gpus = Some(2);
    let objectives = ["p95 ttft < 500ms", "slo_attainment > 50%"];
    insta::assert_snapshot!(report(&log, &objectives, decision_fields));
}

/// What the server tells itself is recorded.
#[test]
fn the_fields_of_a_decision_miss_what_the_run_misses() {
    let mut log = minute();
    log.header.engine.server_version = None;
    assert!(report(&log, &[], decision_fields).contains("precision not recorded"));
    log.header.engine.serving_flags.insert("server_args.dtype".to_owned(), "bfloat16".into());
    log.header.deployment.labels.insert("version".to_owned(), "0.32".to_owned());
    let table = report(&log, &[], decision_fields);
    assert!(table.contains("| bfloat16 |") && table.contains("/ 0.32 |"), "{table}");
    // By the records: prompts of 112 tokens, answers of 40.
    assert!(table.contains("100 % chat (112 → 40 tokens)"), "{table}");
}

#[test]
fn foreign_text_stays_text() {
    let table = report(&hostile(), &[], decision_fields);
    assert_eq!(table.lines().count(), 12, "{table}");
    assert!(table.lines().all(|line| line.matches('|').count() == 3), "{table}");
    assert!(!table.contains("<script") && !table.contains('\u{1b}'), "{table}");
    let block = report(&hostile(), &[], percentile_block);
    assert!(!block.contains("\n# EOF") && !block.contains('\u{1b}'), "{block}");
}

/// TTFT from 1 to 500 ms in no order, no SLO.
fn spread() -> RunLog {
    let records = (0..500).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + 1 + (i * 181) % 500, 10, 11).build()
    });
    run(50_000, records.collect())
}

#[test]
fn risk_is_as_high_as_its_gravest_reason() {
    let log = spread();
    for (objectives, expected, why) in [
        (&["p50 ttft < 400ms"][..], Risk::Low, "the nearest limit, p50 ttft < 400ms, was met with 37"),
        (&["p50 ttft < 251ms"], Risk::Unknown, "cannot tell: p50 ttft < 251ms"),
        (&["max ttft < 510ms"], Risk::Medium, "was met with 1.96 % of its limit to spare"),
        (&["p99.9 ttft < 5s"], Risk::Unknown, "0 of 500 requests over; would take about "),
        (&["p50 ttft < 100ms", "p50 ttft < 400ms"], Risk::High, "missed: p50 ttft < 100ms"),
        (&["p50 queue_wait < 1s"], Risk::Unknown, "no such figure"),
        (&[], Risk::Unknown, "nothing was demanded"),
        // No share exceeds 1: of the 10 % that may fail, none did.
        (&["error_rate < 10%", "p50 ttft < 400ms"], Risk::Low, "p50 ttft < 400ms, was met with 37"),
        (&["valid_answers > 5%"], Risk::Unknown, "no such figure"),
    ] {
        let (rated, reasons) = rated(&log, objectives);
        assert_eq!(rated, expected, "{objectives:?}: {reasons}");
        assert!(reasons.contains(why), "{objectives:?}: {reasons}");
    }
    let (rated_three, reasons) = rated(&three(), &["p50 ttft < 10s"]);
    assert!(rated_three == Risk::Unknown && reasons.starts_with("the run is INVALID"), "{reasons}");
    // Two of ten requests may take 500 ms and seven 200 ms, of a TTFT from 100 to 400: a part of them keeps that.
    for (objectives, expected, why) in [
        (&["slo_attainment > 5%"][..], Risk::Low, "of the misses that it allows to spare"),
        (&[], Risk::Unknown, "no objective says how many must"),
    ] {
        let (rated, reasons) = rated(&minute(), objectives);
        assert!(rated == expected && reasons.contains(why), "{objectives:?}: {rated:?}: {reasons}");
    }
    let mut slow = minute();
    slow.header.workload.classes =
        vec![class("chat", &[(Priority::High, slo(110.0)), (Priority::Medium, slo(110.0))])];
    let (rated_slow, reasons) = rated(&slow, &[]);
    assert!(rated_slow == Risk::High && reasons.contains("of the requests with an SLO met"), "{reasons}");
    let (broken, reasons) = rated(&minute(), &["p95 ttft < 500ms"]);
    assert!(broken == Risk::Medium && reasons.contains("no objective says how many must"), "{reasons}");
}
