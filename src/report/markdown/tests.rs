//! Comparisons as Markdown, as they are and with hostile text in them.

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{record, run};
use crate::experiment::compare::{Compared, ComparedSide, Gate};
use crate::report::sample_runs::HOSTILE;

/// Forty requests of this TTFT or a little more, by a server of this name.
fn side(name: &str, ttft_ms: u64) -> ComparedSide {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + i % 7, 10, 11).build()
    });
    let mut log = run(1_000, records.collect());
    log.header.engine.server_version = Some(name.to_owned());
    let summary = summarise(&log, &[]);
    ComparedSide::of_run(name.to_owned(), log.header, summary)
}

fn gates() -> [Gate; 2] {
    let margin = |text: &str| text.parse().unwrap();
    [Gate::MaxRegression(margin("p50 ttft 10%")), Gate::MaxRegression(margin("error_rate 1%"))]
}

#[test]
fn a_comparison_with_demands() {
    let compared = Compared::of(&[side("before", 100), side("after", 120)], &[], &gates()).unwrap();
    let page = compared_markdown(&compared);
    // 103 ms become 123: 19.4 % worse.
    assert!(page.starts_with("## ❌ 1 of 2 demands met · p95 TTFT +"), "{page}");
    assert!(page.contains("| ❌ missed | p50 ttft at most 10.0 % worse (was 19.4 % worse)"), "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn a_comparison_keeps_foreign_text_text() {
    let sides = [side("a", 100), side(HOSTILE, 120), side("c", 110)];
    let page = compared_markdown(&Compared::of(&sides, &[], &gates()).unwrap());
    assert!(page.lines().all(|line| !line.starts_with("# EOF")), "{page}");
    assert!(!page.replace("<br>", "").replace("<!-- -->", "").contains('<'), "{page}");
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\0']), "{page}");
    assert!(page.contains("### Over time: 3 from the earliest to the latest"), "{page}");
    let mut bars = None;
    for line in page.lines() {
        let here = line.starts_with('|').then(|| line.matches('|').count());
        assert!(bars.is_none() || here.is_none() || bars == here, "{line}");
        bars = here;
    }
}
