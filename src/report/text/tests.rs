//! Whole reports of five kinds of run, as a person sees them.

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{class, ms, record, run};
use crate::record::{Failure, FailureKind, Phase, RunEnding, RunLog};
use crate::workload::{Priority, Slo};

fn slo(ttft: f64) -> Slo {
    Slo { ttft_ms: Some(ttft), tpot_ms: Some(50.0), e2e_ms: None }
}

/// Ten requests a second for a minute, two priorities, TTFT from 100 ms up to 400 ms.
fn minute() -> RunLog {
    let records = (0..600).map(|i| {
        let at = i * 100;
        let priority = if i % 10 < 7 { Priority::High } else { Priority::Medium };
        let first = at + 100 + (i * 37) % 300;
        record(i)
            .class(0, priority)
            .sent_at(at, at, at + 1)
            .paced(first, 20 + i % 7, 40)
            .usage(112, 40)
            .build()
    });
    let mut log = run(60_000, records.collect());
    log.header.workload.name = "short_chat".to_owned();
    log.header.workload.classes =
        vec![class("chat", &[(Priority::High, slo(200.0)), (Priority::Medium, slo(500.0))])];
    log
}

fn shown(log: &RunLog, objectives: &[&str]) -> String {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    text(&summarise(log, &objectives), Style::PLAIN)
}

#[test]
fn a_normal_run() {
    let objectives = ["p95 ttft < 500ms", "slo_attainment > 95%", "p50 queue_wait < 1s"];
    insta::assert_snapshot!(shown(&minute(), &objectives));
}

#[test]
fn a_failed_run() {
    let mut log = minute();
    for record in &mut log.records {
        let failure = match record.index % 3 {
            0 => Failure::new(FailureKind::HttpStatus(503), "no capacity\x1b[2J left"),
            _ => Failure::new(FailureKind::Connect, "connection refused (os error 111)"),
        };
        *record = crate::analysis::test_runs::record(record.index)
            .sent_at(record.index * 100, record.index * 100, record.index * 100)
            .failed(record.index * 100 + 2, failure)
            .build();
    }
    log.header.engine.model = "evil\x1b]0;model\x07".to_owned();
    insta::assert_snapshot!(shown(&log, &["error_rate < 1%"]));
}

#[test]
fn an_interrupted_run() {
    let mut log = minute();
    log.records.truncate(150);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = ms(15_000);
    footer.ending = RunEnding::Interrupted;
    insta::assert_snapshot!(shown(&log, &[]));
}

#[test]
fn a_run_that_was_not_streamed() {
    let records = (0..200).map(|i| {
        let at = i * 100;
        record(i).sent_at(at, at, at + 1).whole_answer(at + 700 + (i * 37) % 300, 40).build()
    });
    let mut log = run(20_000, records.collect());
    log.header.engine.streamed = false;
    log.header.workload.classes = vec![class("chat", &[(Priority::High, slo(200.0))])];
    insta::assert_snapshot!(shown(&log, &["p95 ttft < 500ms"]));
}

#[test]
fn a_censored_run() {
    let mut log = minute();
    let failure = Failure::new(FailureKind::TimeoutFirstToken, "no token within 30 s");
    for record in log.records.iter_mut().filter(|record| record.index % 20 == 19) {
        let at = record.index * 100;
        *record =
            crate::analysis::test_runs::record(record.index).sent_at(at, at, at + 1).censored(90_000).build();
    }
    log.records[3] = record(3).sent_at(300, 300, 301).failed(30_301, failure).build();
    log.records
        .push(record(600).phase(Phase::Cooldown).sent_at(60_100, 60_100, 60_101).censored(90_000).build());
    log.footer.as_mut().unwrap().ending = RunEnding::DrainLimit;
    log.header.workload.classes.push(class("batch", &[(Priority::High, Slo::default())]));
    for record in log.records.iter_mut().filter(|record| record.index % 4 == 0) {
        record.class = 1;
        record.priority = Priority::High;
    }
    insta::assert_snapshot!(shown(&log, &["p99 ttft < 500ms", "p99.9 e2e < 2min"]));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let summary = summarise(&minute(), &[]);
    let style = Style { colour: crate::report::Colour::Ansi, ..Style::PLAIN };
    let mut plain = text(&summary, style);
    for code in ["\x1b[1m", "\x1b[2m", "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, text(&summary, Style::PLAIN));
}

#[test]
fn the_page_is_no_wider_than_asked() {
    for line in shown(&minute(), &[]).lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
