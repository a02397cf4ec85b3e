//! The summary level: what everybody needs, within a screen.

use super::run_text;
use crate::analysis::summarise;
use crate::analysis::test_runs::{ms, record};
use crate::record::{Failure, FailureKind, RunEnding};
use crate::report::sample_runs::{minute, observed};
use crate::report::{Extent, Extras, Style};

fn summary(log: &crate::record::RunLog, objectives: &[&str]) -> String {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let style = Style { width: 80, ..Style::PLAIN };
    run_text(&summarise(log, &objectives), Extras::default(), style, Extent::Summary)
}

#[test]
fn a_healthy_run_fits_a_screen() {
    for (log, objectives) in [(minute(), &["p95 ttft < 500ms"][..]), (observed(), &[])] {
        let text = summary(&log, objectives);
        assert_fits(&text);
        assert!(text.starts_with("VALID: "), "{text}");
    }
    insta::assert_snapshot!(summary(&minute(), &["p95 ttft < 500ms"]));
}

fn assert_fits(text: &str) {
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_that_failed_says_why_once() {
    let mut log = minute();
    for record_of in &mut log.records {
        let (index, at) = (record_of.index, record_of.index * 100);
        let refused = Failure::new(FailureKind::Connect, "connection refused (os error 111)");
        *record_of = record(index).sent_at(at, at, at).failed(at + 2, refused).build();
    }
    let text = summary(&log, &["error_rate < 1%"]);
    assert_fits(&text);
    assert_eq!(text.matches("connection refused").count(), 1, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_few_failures_have_a_line() {
    let mut log = minute();
    let failure = Failure::new(FailureKind::HttpStatus(503), "no capacity left");
    log.records[7] = record(7).sent_at(700, 700, 701).failed(900, failure).build();
    let text = summary(&log, &["p95 ttft < 500ms"]);
    assert_fits(&text);
    assert!(text.contains("  ! 1 request failed: 1 http 503, such as: no capacity left\n"), "{text}");
}

#[test]
fn an_interrupted_run_is_said_to_be_once() {
    let mut log = minute();
    log.records.truncate(150);
    let footer = log.footer.as_mut().unwrap();
    footer.released_until = ms(15_000);
    footer.ending = RunEnding::Interrupted;
    let text = summary(&log, &[]);
    assert_fits(&text);
    assert_eq!(text.matches("interrupted").count(), 1, "{text}");
    insta::assert_snapshot!(text);
}

/// Whatever the summary says, the full report says too.
#[test]
fn the_full_report_leaves_nothing_of_the_summary_out() {
    let found = summarise(&minute(), &[]);
    let full = run_text(&found, Extras::default(), Style::PLAIN, Extent::Full);
    for word in summary(&minute(), &[]).split_whitespace() {
        // A clause that ends on a screen may go on there.
        let word = word.trim_end_matches([':', ';', ',']);
        assert!(full.contains(word), "{word} is not in {full}");
    }
}
