//! Pages hold what was found, escape what others said, and need nothing from elsewhere.

use super::*;
use crate::analysis::summarise;
use crate::analysis::test_runs::{record, run};
use crate::experiment::compare::{Compared, Condition, Side};

pub(super) const HOSTILE: &str =
    "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

fn side(name: &str, ttft_ms: u64) -> Side {
    let records = (0..40).map(|i| {
        let at = i * 20;
        record(i).sent_at(at, at, at).paced(at + ttft_ms + i % 7, 10, 11).build()
    });
    let mut log = run(1_000, records.collect());
    log.header.engine.server_version = Some(name.to_owned());
    log.header.engine.model = format!("model of {name}");
    let summary = summarise(&log, &[]);
    Side::of_run(name.to_owned(), log.header, summary)
}

/// What every page must be.
pub(super) fn assert_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme"));
    for forbidden in ["<script", "<img", "src=\"", "href=\"", "@import", "url(", "NaN", "inf\"", "\u{202e}"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for tag in [
        "figure", "svg", "table", "g", "path", "details", "div", "circle", "text", "title", "rect", "ul",
        "dl", "pre",
    ] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "every <{tag}> is closed");
    }
}

#[test]
fn a_comparison_escapes_what_servers_call_themselves() {
    let sides = [side("a", 100), side(HOSTILE, 120), side("c", 110)];
    let compared = Compared::of(&sides, &[Condition::Model], &[]).unwrap();
    let page = compared_page(&compared);
    assert_page(&page);
    assert!(page.contains("&lt;script src=https://evil.example/x.js&gt;"), "{page}");
    assert!(page.contains("Over time") && page.matches("<svg").count() > 4);
}
