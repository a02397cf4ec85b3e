//! The summary level: what everybody needs, within a screen.

use super::{run_markdown, run_page, run_text};
use crate::analysis::summarise;
use crate::analysis::test_runs::{ms, record};
use crate::record::{Failure, FailureKind, RunEnding};
use crate::report::sample_runs::{minute, observed, report};
use crate::report::{Extent, Style};

fn summary(log: &crate::record::RunLog, objectives: &[&str]) -> String {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let style = Style { width: 80, ..Style::PLAIN };
    run_text(&summarise(log, &objectives), None, style, Extent::Summary)
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
    let full = run_text(&found, None, Style::PLAIN, Extent::Full);
    for word in summary(&minute(), &[]).split_whitespace() {
        // A clause that ends on a screen may go on there.
        let word = word.trim_end_matches([':', ';', ',']);
        assert!(full.contains(word), "{word} is not in {full}");
    }
}

#[test]
fn a_run_with_many_objectives_shows_the_worst() {
    let mut objectives: Vec<String> = (1..=8).map(|tenths| format!("p95 ttft < {tenths}00ms")).collect();
    objectives.push("p50 queue_wait < 1s".to_owned());
    let objectives: Vec<&str> = objectives.iter().map(String::as_str).collect();
    let text = summary(&minute(), &objectives);
    assert_fits(&text);
    // 384 ms is over three bounds.
    let shown: Vec<_> =
        text.lines().filter(|line| line.contains("p95 ttft <") || line.contains("queue_wait")).collect();
    assert!(shown[..3].iter().all(|line| line.starts_with("  ✗ missed: ")), "{text}");
    assert!(shown[3].starts_with("  ? ") && shown.len() == 4 && text.contains("  … and 5 more (--full)\n"), "{text}");
    assert!(text.contains("5 of 9 objectives met"), "{text}");
}

/// The reason says how many, and the line below it what.
#[test]
fn a_run_with_too_many_failures_says_which() {
    let mut log = minute();
    for i in 0..60 {
        let failure = Failure::new(FailureKind::HttpStatus(503), "no capacity left");
        log.records[i as usize * 10] =
            record(i * 10).sent_at(i * 1_000, i * 1_000, i * 1_000 + 1).failed(i * 1_000 + 200, failure).build();
    }
    let text = summary(&log, &[]);
    assert!(text.starts_with("OVERLOADED: "), "{text}");
    let [reason, failures, table] =
        ["10 % of the requests failed", "! 60 requests failed: 60 http 503, such as: no capacity left", "Latency, ms"]
            .map(|part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}")));
    assert!(reason < failures && failures < table, "{text}");
    assert_eq!(text.matches("requests failed:").count(), 1, "{text}");
}

#[test]
fn percentiles_that_were_asked_for_are_the_columns_of_every_form() {
    let mut log = minute();
    log.header.percentiles = vec![99.5, 75.0];
    let text = summary(&log, &[]);
    assert_fits(&text);
    assert!(text.contains("Latency, ms    p75   p99.5\n"), "{text}");
    assert!(!text.contains("p95") && text.contains("  * too few samples to rely on"), "{text}");
    let full = run_text(&summarise(&log, &[]), None, Style::PLAIN, Extent::Full);
    let titles: Vec<_> = full.lines().find(|line| line.contains("p99.5")).unwrap().split_whitespace().collect();
    assert_eq!(titles, ["n", "n", "eff", "mean", "std", "min", "p75", "p99.5", "max"], "{full}");
    let page = run_page(&log, &summarise(&log, &[]), None);
    assert!(page.contains("<th scope=\"col\">p75</th><th scope=\"col\">p99.5</th>"), "{page}");
    // A percentile that is asked for has its interval by order statistics.
    assert!(page.contains("<td>398*<div class=\"below\">"), "{}", &page[page.find(">p99.5<").unwrap()..]);
    let markdown = report(&log, &[], run_markdown);
    assert!(markdown.contains("| n | n eff | mean | std | min | p75 | p99.5 | max |"), "{markdown}");
}

#[test]
fn many_percentiles_stand_in_several_tables() {
    let mut log = minute();
    log.header.percentiles = vec![1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
    let text = summary(&log, &[]);
    assert_fits(&text);
    let titled = |line: &&str| line.contains("p1 ") || line.trim_start().starts_with("p90 ");
    assert_eq!(text.lines().filter(titled).count(), 2, "{text}");
    assert_eq!(text.matches("  TTFT ").count(), 2, "{text}");
}
