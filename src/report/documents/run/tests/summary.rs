//! The summary level: what everybody needs, within a screen.

use super::run_text;
use crate::analysis::summarise;
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
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("VALID: "), "{text}");
    }
    insta::assert_snapshot!(summary(&minute(), &["p95 ttft < 500ms"]));
}

/// Whatever the summary says, the full report says too.
#[test]
fn the_full_report_leaves_nothing_of_the_summary_out() {
    let found = summarise(&minute(), &[]);
    let full = run_text(&found, Extras::default(), Style::PLAIN, Extent::Full);
    for word in summary(&minute(), &[]).split_whitespace() {
        assert!(full.contains(word), "{word} is not in {full}");
    }
}
