//! Audits of the results that other tools wrote (`tests/data/foreign`), word for word.

use std::path::PathBuf;

use serde_json::Value;

use super::{document, json};
use crate::analysis::{Audit, Evidence, summarise};
use crate::foreign::ForeignFile;
use crate::report::render::{self, Extent};
use crate::report::sample_runs::{HOSTILE, hostile, minute};
use crate::report::{Style, documents};

/// The audits of a file of another tool.
fn audits(name: &str) -> Vec<Audit> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name);
    let runs = ForeignFile::read(&path, None).unwrap().unwrap().runs;
    let named = |run| format!("{name} ({})", documents::foreign_in_words(run));
    runs.iter().map(|run| Audit::new(named(run), &run.evidence(&runs))).collect()
}

fn text(audits: &[Audit], extent: Extent) -> String {
    render::text(&document(audits), Style { width: 80, ..Style::PLAIN }, extent)
}

#[test]
fn results_of_the_peers_bear_what_they_bear() {
    for (name, file) in [
        ("vllm", "vllm.json"),
        ("vllm_python", "vllm-python.json"),
        ("sglang", "sglang.jsonl"),
        ("guidellm", "guidellm.json"),
        ("aiperf", "aiperf"),
        ("agentx", "aiperf-agentx"),
    ] {
        insta::assert_snapshot!(name, text(&audits(file), Extent::Full));
    }
}

#[test]
fn a_screen_has_the_sentence_and_what_is_missing() {
    for file in ["vllm.json", "sglang.jsonl", "guidellm.json", "aiperf"] {
        let shown = text(&audits(file), Extent::Summary);
        assert!(shown.lines().count() <= 24, "{shown}");
    }
    let log = minute();
    let audit = Audit::new("results/minute", &Evidence::of_run(&log, &summarise(&log, &[])));
    insta::assert_snapshot!("a_run", text(&[audit], Extent::Summary));
}

#[test]
fn the_json_has_rules_standings_and_sentences() {
    let value: Value = serde_json::from_str(&json(&audits("vllm.json")).unwrap()).unwrap();
    let audit = &value["audits"][0];
    assert_eq!(value["schema"], 1);
    assert_eq!(audit["checklist"]["items"][0]["rule"], "lengths");
    assert_eq!(audit["checklist"]["items"][0]["standing"], "not_met");
    assert!(audit["strongest_sentence"].as_str().unwrap().contains("on unnamed hardware"));
    assert!(audit["cannot_conclude"].as_array().unwrap().contains(&"no variance: one run".into()));
}

#[test]
fn what_a_file_says_steers_no_terminal() {
    let log = hostile();
    let audit = Audit::new(HOSTILE, &Evidence::of_run(&log, &summarise(&log, &[])));
    let shown = text(&[audit], Extent::Full);
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'), "{shown}");
}
