//! Runs as Markdown, as they are and with hostile text in them.

use super::run_markdown;
use crate::report::sample_runs::{HOSTILE, hostile, minute, report, three};

#[test]
fn a_run_with_objectives() {
    let objectives = ["p95 ttft < 500ms", "p50 ttft < 200ms", "slo_attainment > 95%", "p50 queue_wait < 1s"];
    insta::assert_snapshot!(report(&minute(), &objectives, run_markdown));
}

#[test]
fn an_invalid_run() {
    insta::assert_snapshot!(report(&three(), &["max ttft < 4s"], run_markdown));
}

#[test]
fn foreign_text_stays_text() {
    let page = report(&hostile(), &["p95 ttft of other < 500ms"], run_markdown);
    // Outside of code nothing of it begins a line, and what HTML there is is the page's own.
    let (before, after) = page.split_once("\n````sh\n").unwrap();
    let page = format!("{before}{}", after.split_once("\n````\n").unwrap().1);
    assert!(page.lines().all(|line| !line.starts_with("# EOF")), "{page}");
    let outside: String = page.lines().filter(|line| !line.contains('`')).collect();
    let own = ["<br>", "<!-- -->", "<details>", "</details>", "<summary>", "</summary>"];
    let foreign = own.iter().fold(outside, |text, tag| text.replace(tag, ""));
    assert!(!foreign.contains('<'), "{page}");
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\0']), "{page}");
    // Each row of a table has as many bars as its head.
    let mut bars = None;
    for line in page.lines() {
        let here = line.starts_with('|').then(|| line.matches('|').count());
        assert!(bars.is_none() || here.is_none() || bars == here, "{line}");
        bars = here;
    }
    assert!(HOSTILE.contains('|') && page.contains("a&#124;b&#92;&#124;c"), "{page}");
}
