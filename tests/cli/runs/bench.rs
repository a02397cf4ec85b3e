//! `skyline bench` against the embedded mock: what comes out, where it is kept, how it is shown again.

use std::process::{Command, Stdio};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, signal};

#[test]
fn a_run_prints_a_report_keeps_its_records_and_is_shown_again_identically() {
    let desk = Desk::new();
    let first = desk.skyline(&["bench", "quick.toml", "--allow-invalid"]).assert().code(0);
    let first = String::from_utf8(first.get_output().stdout.clone()).unwrap();
    for part in ["VALID", "quick", "TTFT", "TPOT", "ITL", "p99.9", "SLO"] {
        assert!(first.contains(part), "no {part} in\n{first}");
    }
    let run = desk.run();
    assert!(run.file_name().unwrap().to_str().unwrap().starts_with("quick-mock-"));

    let again = desk.skyline(&["report", run.to_str().unwrap(), "--allow-invalid"]).assert().code(0);
    assert_eq!(String::from_utf8(again.get_output().stdout.clone()).unwrap(), first);

    let stored: Value = serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    let json = desk.skyline(&["report", run.to_str().unwrap(), "--allow-invalid", "--json"]).assert().code(0);
    assert_eq!(serde_json::from_slice::<Value>(&json.get_output().stdout).unwrap(), stored);

    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("TTFT of each request"));

    let log = std::fs::read_to_string(run.join("run.jsonl")).unwrap();
    assert!(log.lines().next().unwrap().starts_with(r#"{"header":{"schema":9,"#));
    assert!(log.lines().count() >= 42, "a header, at least 40 requests, a footer");
    assert!(log.lines().last().unwrap().starts_with(r#"{"footer":"#));
}

#[test]
fn json_prints_the_summary_and_nothing_else() {
    let desk = Desk::new();
    let out = desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--json"]).assert().code(0);
    let summary: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!(summary["schema"], 4);
    let text = summary.to_string();
    assert!(text.contains("\"ttft\"") && text.contains("p99"), "{text}");
}

#[test]
fn answers_that_are_not_streamed_have_no_ttft() {
    let desk = Desk::new();
    let out = desk
        .skyline(&["bench", "quick.toml", "--allow-invalid", "--no-stream", "--json", "--requests", "5"])
        .assert()
        .code(0);
    let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let latency = &summary["latency"];
    assert!(latency["ttft"].is_null() && latency["tpot"].is_null() && latency["itl"].is_null(), "{latency}");
    assert_eq!(latency["e2e"]["n"], 5, "{latency}");
}

#[test]
fn completions_are_spoken_too() {
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--endpoint", "completions", "--requests", "5"])
        .assert()
        .code(0)
        .stdout(contains("completions"));
}

#[test]
fn the_same_seed_flies_the_same_plan() {
    let desk = Desk::new();
    let hash = |seed: &str| {
        let out = desk
            .skyline(&["bench", "quick.toml", "--allow-invalid", "--requests", "3", "--seed", seed, "--json"])
            .assert()
            .code(0);
        let summary: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
        find(&summary, "plan_hash").unwrap_or_else(|| panic!("no plan hash in {summary}")).clone()
    };
    assert_eq!(hash("7"), hash("7"));
    assert_ne!(hash("7"), hash("8"));
}

fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(key).or_else(|| map.values().find_map(|inner| find(inner, key))),
        Value::Array(items) => items.iter().find_map(|inner| find(inner, key)),
        _ => None,
    }
}

#[test]
fn a_missed_objective_exits_1_with_a_line_for_it() {
    let desk = Desk::new();
    desk.skyline(&[
        "bench",
        "quick.toml",
        "--allow-invalid",
        "--objective",
        "max ttft < 1ms",
        "--objective",
        "error_rate < 1%",
    ])
    .assert()
    .code(1)
    .stdout(contains("missed").and(contains("max ttft < 1ms")).and(contains("error_rate < 1%")));
    let run = desk.run();
    // The objectives are kept with the run, and so is their verdict.
    desk.skyline(&["report", run.to_str().unwrap(), "--allow-invalid"]).assert().code(1);
    desk.skyline(&["report", run.to_str().unwrap(), "--allow-invalid", "--objective", "max ttft < 100s"])
        .assert()
        .code(0);
}

#[test]
fn met_objectives_exit_0() {
    let objectives = ["p95 ttft < 60s", "error_rate < 1%", "goodput > 1/s", "slo_attainment > 95%"];
    let mut arguments = vec!["bench", "quick.toml", "--allow-invalid"];
    for objective in &objectives {
        arguments.extend(["--objective", objective]);
    }
    let desk = Desk::new();
    // Few requests cannot tell a p95: the user says what that counts as.
    desk.skyline(&arguments).args(["--undecided", "pass"]).assert().code(0);
    let run = desk.run();
    let report = ["report", run.to_str().unwrap(), "--allow-invalid", "--objective", "p99 ttft < 60s"];
    desk.skyline(&report)
        .assert()
        .code(1)
        .stdout(contains("cannot tell: p99 ttft < 60s (was ").and(contains("0 of 39 requests over")))
        .stderr(contains("1 objective undecided: counts as missed (--undecided fail); run more requests,"));
    desk.skyline(&report)
        .args(["--undecided", "pass"])
        .assert()
        .code(0)
        .stderr(contains("1 objective undecided: counts as met (--undecided pass)"));
    let none = ["report", run.to_str().unwrap(), "--allow-invalid", "--objective", "p50 queue_wait < 1s"];
    desk.skyline(&none).args(["--undecided", "pass"]).assert().code(1);
    desk.skyline(&["bench", "quick.toml", "--allow-invalid", "--undecided", "pass"])
        .assert()
        .stderr(contains("--undecided does nothing here, because there is no objective"));
}

#[test]
fn a_cap_is_named_in_the_report() {
    Desk::new()
        .skyline(&["bench", "quick.toml", "--allow-invalid", "--max-concurrency", "2"])
        .assert()
        .code(0)
        .stdout(contains("2 requests in flight"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_its_records_and_exits_130() {
    let desk = Desk::new();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    command.current_dir(desk.path()).args(["bench", "quick.toml", "60"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    desk.await_answers();
    signal(&child, "-INT");
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stdout).to_lowercase().contains("interrupted"));
    let log = std::fs::read_to_string(desk.run().join("run.jsonl")).unwrap();
    assert!(log.lines().last().unwrap().contains("interrupted"));
}
