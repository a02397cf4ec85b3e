//! Pages hold what was found, escape what others said, and need nothing from elsewhere.

use std::collections::BTreeMap;

use super::*;
use crate::analysis::test_runs::{record, run};
use crate::analysis::{Status, summarise};
use crate::experiment::compare::{Compared, Condition, GateJudgement, Side};
use crate::experiment::{Regime, Symptom};

const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=alert(1)>";

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
fn assert_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme"));
    for forbidden in ["<script", "<img", "src=\"", "href=\"", "@import", "url(", "NaN", "inf\"", "\u{202e}"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for tag in ["figure", "svg", "table", "g", "path", "details", "div", "circle", "text", "title"] {
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
    assert!(page.contains("corrected for all figures (Holm), is at most 0.05"), "drifts as in the text");
}

#[test]
fn a_comparison_tells_what_a_warm_cache_did_not_do() {
    let mut compared = Compared::of(&[side("a", 100), side("b", 100)], &[Condition::Model], &[]).unwrap();
    compared.against[0].warm_like_cold = Some(Symptom {
        regime: Regime::CacheMiss,
        symptom: format!("as slow as cold {HOSTILE}"),
        likely: "the cache is not hit".to_owned(),
        confirm: "its counters".to_owned(),
        first_response: "look at the prefixes".to_owned(),
        figures: BTreeMap::new(),
    });
    let page = compared_page(&compared);
    assert_page(&page);
    assert!(page.contains("as slow as cold") && page.contains("look at the prefixes"), "{page}");
}

#[test]
fn what_cannot_be_told_has_a_sign_of_its_own() {
    let gate = |status| GateJudgement {
        gate: String::new(),
        status,
        worse_by: None,
        close: false,
        line: "line".to_owned(),
    };
    let drawn = [Status::Met, Status::Missed, Status::Unresolvable]
        .map(|status| parts::judgement(&gate(status)).into_string());
    assert!(drawn[0].contains('✓') && drawn[1].contains('✗') && drawn[2].contains('?'), "{drawn:?}");
}
