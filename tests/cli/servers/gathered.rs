//! Streams that something between the model and the client gathers.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, mock};

/// Slow, so that what a busy machine gathers by itself is little.
const PACE: [&str; 4] = ["--ttft", "30ms", "--itl", "40ms"];

fn bench(fault: Option<&str>, options: &[&str], code: i32) -> (Value, String) {
    let chance = fault.map(|fault| format!("{fault}=1"));
    let faults: Vec<_> = chance.iter().flat_map(|chance| ["--fault", chance]).collect();
    let mock = mock(&[&PACE[..], &faults].concat());
    let desk = Desk::new();
    let run = ["bench", "quick.toml", "--engine", "mock", "--url", &mock.url, "--no-calibration"];
    let demands = ["--objective", "p50 tpot < 1ms", "--objective", "mean itl < 1ms", "--out", "results"];
    let shown = desk.skyline(&[&run[..], &demands, options].concat()).assert().code(code);
    (desk.summary(), String::from_utf8(shown.get_output().stdout.clone()).unwrap())
}

#[test]
fn answers_that_come_whole_have_no_pace_and_no_first_token() {
    let (summary, shown) = bench(Some("gathered"), &[], 3);
    for metric in ["tpot", "itl", "chunk_gap"] {
        assert!(summary["latency"][metric].is_null(), "{}", summary["latency"]);
    }
    assert!(summary["latency"]["e2e"].is_object());
    for objective in summary["objectives"].as_array().unwrap() {
        assert_eq!(objective["status"], "undecided", "{objective}");
    }
    assert_eq!(summary["verdict"]["outcome"], "invalid");
    let parts = ["long answers came whole", "proxy_buffering off", "TPOT, ITL", "withheld", "X-Accel-Buffering"];
    for part in parts {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(contains("prefer TPOT").not().eval(&shown), "{shown}");
}

#[test]
fn a_few_tokens_in_each_read_are_no_pace_either() {
    let (summary, shown) = bench(Some("coalesced"), &["--allow-invalid"], 1);
    assert!(summary["delivery"]["tpot_withheld"] == true && summary["latency"]["tpot"].is_null(), "{shown}");
    assert!(summary["delivery"]["ttft_doubtful"] == false, "{}", summary["delivery"]);
}

#[test]
fn several_tokens_in_each_event_are_a_pace() {
    let (summary, shown) = bench(Some("multi_token"), &["--allow-invalid"], 1);
    assert!(summary["latency"]["tpot"].is_object() && summary["objectives"][0]["status"] == "missed", "{shown}");
}
