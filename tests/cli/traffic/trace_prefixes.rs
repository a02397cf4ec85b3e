//! What prompts of a trace have in common, on a mock, in virtual time, and in traces made of runs.

use std::fmt::Write as _;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, mock};

/// Conversations whose turns begin with what came before, all with one block in common: 512 tokens each.
fn conversations() -> String {
    let mut text = String::new();
    let mut turns: Vec<Vec<u64>> = (0_u64..6).map(|talk| vec![0, 1000 * (talk + 1)]).collect();
    for place in 0_usize..36 {
        let blocks = &mut turns[place * 5 % 6];
        let input = blocks.len() * 512;
        let _ = writeln!(
            text,
            r#"{{"timestamp": {}, "input_length": {input}, "output_length": 4, "hash_ids": {blocks:?}}}"#,
            place * 250
        );
        let next = blocks[blocks.len() - 1] + 1;
        blocks.push(next);
    }
    text
}

#[test]
fn a_prefix_cache_finds_what_the_trace_shares() {
    let desk = Desk::new();
    desk.file("talks.jsonl", &conversations());
    let mock = mock(&["--hardware", "h200", "--enable-prompt-tokens-details"]);
    desk.skyline(&["bench", "--trace", "talks.jsonl", "--url", &mock.url, "--engine", "mock", "--quiet"])
        .args(["--no-calibration", "--allow-invalid", "--warmup", "0s"])
        .assert()
        .success();
    let summary = desk.summary();
    let tokens = &summary["tokens"];
    let measured =
        tokens["cached_input_tokens"].as_f64().unwrap() / tokens["input"]["received_tokens"].as_f64().unwrap();
    // By hand: 6 talks of 6 turns, of which turn n has n + 2 blocks and all but its last were there; of each first turn
    // only the common block was, and not in the very first. So (36 − 1 + 6 (1 + 2 + 3 + 4 + 5)) of 6 (2 + … + 7) blocks.
    let planned = summary["run"]["arrival"]["found"]["reusable_share"].as_f64().unwrap();
    assert!((planned - 125.0 / 162.0).abs() < 1e-9, "{planned}");
    assert!((measured - planned).abs() < 0.05, "{measured} of {planned}");
    let findings = summary["findings"].to_string();
    assert!(!findings.contains("warm_cache"), "{findings}");
}

#[test]
fn a_simulated_cache_finds_what_the_trace_shares() {
    let desk = Desk::new();
    desk.file("talks.jsonl", &conversations());
    desk.skyline(&["simulate", "--trace", "talks.jsonl", "--hardware", "h200", "--warmup", "0s"])
        .args(["--out", "results", "--allow-invalid"])
        .assert()
        .success();
    // The blocks of the trace are 32 of the cache's each, and nothing else is alike: by hand as above, but that a turn
    // which is the same prompt as its cache entry computes its last block again, to have something to compute.
    let cached: u64 =
        desk.lines("request").iter().map(|record| record["usage"]["cached_tokens"].as_u64().unwrap_or(0)).sum();
    let (all, whole) = (162 * 512, 125 * 512);
    assert!(cached <= whole && whole - cached <= 36 * 16, "{cached} of {whole} in {all}");
}

/// Three prefixes of several lengths, two tenants and two models.
const SHARING: &str = r#"
name = "sharing"
horizon_s = 20
warmup_s = 0
arrival = { kind = "poisson", rate_per_s = 20 }
models = { names = ["base", "adapter"] }
tenants = [{ name = "one", weight = 3 }, { name = "two" }]
[[classes]]
name = "all"
input_tokens = { kind = "uniform", min = 20, max = 60 }
output_tokens = { kind = "constant", value = 4 }
shared_prefix = { count = 3, tokens = { kind = "empirical", values = [64, 96, 160] }, zipf = 1 }
"#;

#[test]
fn a_trace_of_a_run_shares_what_the_run_did() {
    let desk = Desk::new();
    desk.file("sharing.toml", SHARING);
    let simulate = |desk: &Desk, arguments: &[&str]| {
        desk.skyline(&["simulate", "sharing.toml", "20", "--out", "results", "--allow-invalid", "--warmup", "0s"])
            .args(arguments)
            .assert()
            .success();
        let mut records = desk.lines("request");
        records.sort_by_key(|record| record["index"].as_u64());
        records
    };
    let first = simulate(&desk, &[]);
    let run = desk.run();
    let again = Desk::new();
    again.file("sharing.toml", SHARING);
    let output = desk.skyline(&["trace", "from", run.to_str().unwrap()]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("{\"skyline_trace\":1,\"block_tokens\":32,\"window\":{"), "{text:.80}");
    again.file("made.jsonl", &text);
    let second = simulate(&again, &["--trace", "made.jsonl"]);
    assert_eq!(first.len(), second.len());
    for (one, other) in first.iter().zip(&second) {
        for field in ["scheduled_ns", "input_tokens_asked", "output_tokens_asked", "tenant", "model"] {
            assert_eq!(one[field], other[field], "{field}: {one} and {other}");
        }
    }
    let cached = |records: &[Value]| -> u64 {
        records.iter().map(|record| record["usage"]["cached_tokens"].as_u64().unwrap_or(0)).sum()
    };
    assert!(cached(&first) > 10_000, "{}", cached(&first));
    assert_eq!(cached(&first), cached(&second));
}

#[test]
fn each_repeat_of_a_thinned_trace_says_what_is_left_of_it() {
    let desk = Desk::new();
    desk.file("talks.jsonl", &conversations());
    desk.skyline(&["simulate", "--trace", "talks.jsonl", "--rate-scale", "0.5", "--repeats", "3"])
        .args(["--out", "results", "--allow-invalid", "--warmup", "0s"])
        .assert()
        .success();
    let folder = desk.runs().remove(0);
    let mut met = Vec::new();
    for number in 1..=3 {
        let text = std::fs::read_to_string(folder.join(format!("run-{number}")).join("run.jsonl")).unwrap();
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let said = header["header"]["workload"]["arrival"]["found"]["requests"].as_u64().unwrap();
        let planned = header["header"]["plan"]["measured_requests"].as_u64().unwrap();
        assert_eq!(said, planned, "run {number}");
        met.push(said);
    }
    met.dedup();
    assert!(met.len() > 1, "seeds differ: {met:?}");
    desk.skyline(&["report", folder.to_str().unwrap(), "--allow-invalid"])
        .assert()
        .success()
        .stdout(contains("3 runs").or(contains("of 3")));
}
