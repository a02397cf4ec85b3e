//! `--repeats`: what several runs leave behind, and what is said of them together.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, PATIENCE, signal};

/// A plain server whose delays are drawn, so that runs differ.
const DRAWN: [&str; 4] = ["--ttft", "exponential:80ms", "--itl", "1ms"];

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn repeats_are_whole_runs_in_one_folder_and_are_shown_again() {
    let desk = Desk::new();
    let simulate = ["simulate", "quick.toml", "--repeats", "3", "--out", "results", "--json"];
    let out = desk
        .skyline(&[&simulate[..], &DRAWN].concat())
        .assert()
        .code(0)
        .stderr(contains("5 or more are advised").and(contains("saved to")));
    let all: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let parent = desk.run();
    assert_eq!(names(&parent), ["repeats.json", "run-1", "run-2", "run-3"].map(str::to_owned).into());
    for run in ["run-1", "run-2", "run-3"] {
        assert_eq!(names(&parent.join(run)), ["report.html", "run.jsonl", "summary.json"].map(str::to_owned).into());
    }
    assert_eq!(read(&parent.join("repeats.json")), all);
    desk.assert_schema("repeats", &all);
    let again = desk.skyline(&["report", parent.to_str().unwrap(), "--json"]).assert().code(0);
    assert_eq!(serde_json::from_slice::<Value>(&again.get_output().stdout).unwrap(), all);
    desk.skyline(&["report", parent.join("run-2").to_str().unwrap()]).assert().code(0).stdout(contains("VALID"));

    // Each figure is that of the run's own summary; delays and lengths are drawn anew in each.
    let ttft = &all["figures"]["latency"]["ttft"]["p50_ms"]["values"];
    for run in 0..3_usize {
        let summary = read(&parent.join(format!("run-{}", run + 1)).join("summary.json"));
        assert_eq!(summary["latency"]["ttft"]["p50"]["value_ms"], ttft[run]);
        assert_eq!(summary["run"]["seed"], all["runs"][run]["seed"]);
    }
    let different: BTreeSet<_> = (0..3_usize).map(|run| ttft[run].to_string()).collect();
    assert_eq!(different.len(), 3, "{ttft}");
}

#[test]
fn the_first_run_is_that_of_no_repeats_and_each_can_be_flown_by_itself() {
    let desk = Desk::new();
    let simulate = |more: &[&str]| -> Value {
        let out = desk.skyline(&[&["simulate", "quick.toml", "--json"], more].concat()).assert().code(0);
        serde_json::from_slice(&out.get_output().stdout).unwrap()
    };
    let all = simulate(&["--repeats", "5", "--seed", "9"]);
    assert_eq!((&all["first_seed"], &all["runs"][0]["seed"]), (&Value::from(9), &Value::from(9)));
    for run in [0, 3] {
        let run = &all["runs"][run];
        let alone = simulate(&["--seed", &run["seed"].to_string()]);
        assert_eq!(alone["summary"]["run"]["plan_hash"], run["plan_hash"]);
        assert_eq!(alone["summary"]["latency"]["ttft"]["p50"]["value_ms"], run["ttft_p50_ms"]);
    }
    let hashes: BTreeSet<_> = (0..5_usize).map(|run| all["runs"][run]["plan_hash"].to_string()).collect();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn objectives_are_held_against_the_interval_and_decide_the_exit_code() {
    let desk = Desk::new();
    let run = |repeats: &str, objective: &str| {
        let simulate = ["simulate", "quick.toml", "--repeats", repeats, "--objective", objective];
        desk.skyline(&[&simulate[..], &DRAWN].concat()).assert()
    };
    run("5", "p50 ttft < 1s").code(0).stdout(contains("met: p50 ttft < 1s ("));
    run("5", "p50 ttft < 1ms").code(1).stdout(contains("missed: p50 ttft < 1ms ("));
    // ln 2 · 80 ms = 55.5 ms, which lies inside the interval of two runs nearly surely.
    run("2", "p50 ttft < 55ms")
        .code(1)
        .stdout(contains("cannot tell: p50 ttft < 55ms ("))
        .stderr(contains("1 objective undecided: counts as missed (--undecided fail); run more requests,"));
    run("2", "p50 ttft < 55ms").code(1);
    // Ten tokens of context: every request of every run is refused.
    desk.skyline(&["simulate", "quick.toml", "--repeats", "2", "--max-model-len", "10"])
        .assert()
        .code(3)
        .stdout(contains("INVALID").and(contains("runs 1, 2: none of 39 requests completed")));
}

#[test]
fn bench_flies_them_against_one_server_with_other_texts_in_each() {
    let desk = Desk::new();
    // Whether they are valid depends on how busy this machine is.
    let bench = ["bench", "quick.toml", "1", "--repeats", "2", "--no-calibration", "--allow-invalid", "--salt", "5"];
    let out = desk.skyline(&bench).assert();
    let out = out.get_output();
    let (text, words) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(text.contains("Latency over 2 runs") && text.contains("2 of 2 runs counted"), "{text}{words}");
    assert!(
        words.contains("run 1 of 2, seed 1; 2 runs left, about ") && words.contains("run 2 of 2, seed "),
        "{words}"
    );
    let parent = desk.run();
    let header = |run: &str| -> Value {
        let log = std::fs::read_to_string(parent.join(run).join("run.jsonl")).unwrap();
        serde_json::from_str::<Value>(log.lines().next().unwrap()).unwrap()["header"].take()
    };
    let (one, two) = (header("run-1"), header("run-2"));
    assert_eq!((&one["prompts"]["salt"], &one["repeat"]["number"]), (&Value::from(5), &Value::from(1)));
    assert_ne!(one["prompts"]["salt"], two["prompts"]["salt"]);
    assert_ne!(one["engines"][0]["request_id_prefix"], two["engines"][0]["request_id_prefix"]);
    assert_eq!(two["repeat"], serde_json::json!({ "number": 2, "of": 2, "first_seed": 1 }));
}

/// Two repeats, and beside them the third run that a busy machine makes where it spoils one. A log that is not that of its
/// plan is spoiled on every machine.
#[test]
fn a_stored_run_that_was_spoiled_is_listed_as_replaced_and_does_not_count() {
    let desk = Desk::new();
    let simulate = |repeats: &str| -> Value {
        let typed = ["simulate", "quick.toml", "--repeats", repeats, "--out", repeats, "--json"];
        let out = desk.skyline(&[&typed[..], &DRAWN].concat()).assert().code(0);
        serde_json::from_slice(&out.get_output().stdout).unwrap()
    };
    let (two, three) = (simulate("2"), simulate("3"));
    let folder = |of: &str| std::fs::read_dir(desk.path().join(of)).unwrap().next().unwrap().unwrap().path();
    let (two_runs, three_runs) = (folder("2"), folder("3"));
    let report = |code: i32, more: &[&str]| {
        let typed = [&["report", two_runs.to_str().unwrap()], more].concat();
        let out = desk.skyline(&typed).assert().code(code);
        String::from_utf8(out.get_output().stdout.clone()).unwrap()
    };
    let edit = |run: &str, from: &str, to: &str| {
        Desk::rewrite(&two_runs.join(run).join("run.jsonl"), from, to);
    };
    // Its first run is not that of its plan any more: alone it makes both INVALID.
    edit("run-1", two["runs"][0]["plan_hash"].as_str().unwrap(), &"0".repeat(64));
    let invalid: Value = serde_json::from_str(&report(3, &["--json"])).unwrap();
    assert_eq!((&invalid["verdict"]["outcome"], &invalid["counted_runs"]), (&"invalid".into(), &2.into()));
    assert_eq!((&invalid["spoiled"], &invalid["runs"][0]["replaced"]), (&Value::Null, &Value::Null));

    std::fs::rename(three_runs.join("run-3"), two_runs.join("run-3")).unwrap();
    edit("run-3", "\"number\":3,\"of\":3", "\"number\":3,\"of\":2");
    let all: Value = serde_json::from_str(&report(0, &["--json"])).unwrap();
    desk.assert_schema("repeats", &all);
    assert_eq!((&all["verdict"]["outcome"], &all["planned_runs"]), (&"valid".into(), &2.into()));
    assert_eq!((&all["counted_runs"], all["runs"].as_array().unwrap().len()), (&2.into(), 3));
    let said = all["spoiled"].as_str().unwrap();
    assert!(said.starts_with("1 of 3 runs was spoiled and replaced: run-1 ("), "{said}");
    let ttft = |all: &Value| all["figures"]["latency"]["ttft"]["p50_ms"]["values"].clone();
    assert_eq!(ttft(&all), Value::from(vec![ttft(&two)[1].clone(), ttft(&three)[2].clone()]));
    // The same in each format, and whatever is allowed.
    let text = report(0, &["--allow-invalid"]);
    assert!(text.contains("VALID: 2 of 2 runs counted") && text.contains("1 of 3 runs was spoiled"), "{text}");
    let row = |number: &str| text.lines().find(|line| line.starts_with(&format!("  {number}  "))).unwrap();
    assert!(row("1").contains("replaced") && row("3").contains("VALID"), "{text}");
    // No more than two spare runs replace others.
    edit("run-3", "\"number\":3,\"of\":2", "\"number\":4,\"of\":1");
    desk.skyline(&["report", two_runs.to_str().unwrap()])
        .assert()
        .code(2)
        .stderr(contains("repeat 4 of 1 does not exist"));
}

#[test]
fn runs_that_are_no_repeats_of_one_another_are_not_joined() {
    let desk = Desk::new();
    for _ in 0..2 {
        desk.skyline(&["simulate", "quick.toml", "--out", "results"]).assert().code(0);
    }
    let mut runs = desk.runs();
    runs.sort();
    for (run, name) in runs.iter().zip(["run-1", "run-2"]) {
        std::fs::rename(run, run.with_file_name(name)).unwrap();
    }
    desk.skyline(&["report", "results"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("not a repeat").and(contains("skyline report results/run-1")));
    desk.skyline(&["simulate", "quick.toml", "--repeats", "0"]).assert().code(2);
}

/// Whether it comes before the second run has begun, as it nearly always does here, or after.
#[cfg(unix)]
#[test]
fn an_interrupt_between_two_runs_loses_nothing_of_the_first() {
    let desk = Desk::new();
    let folder = desk.file("x", "");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("skyline"))
        .current_dir(folder.parent().unwrap())
        // Runs that are not over before a busy machine has passed the signal on.
        .args(["bench", "quick.toml", "4", "--repeats", "5", "--no-calibration", "--allow-invalid"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(words.any(|line| line.starts_with("run 2 of 5")));
    signal(&child, "-INT");
    let rest: Vec<_> = words.collect();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{rest:?}");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("1 of 5 runs counted"), "{text} {rest:?}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_that_is_on_and_spares_the_rest() {
    let desk = Desk::new();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    let folder = desk.file("x", "");
    let child = command
        .current_dir(folder.parent().unwrap())
        .args(["bench", "quick.toml", "60", "--repeats", "5", "--no-calibration", "--full"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let parent = loop {
        // Far more than the first answers take on a slow machine; the run itself would take a minute.
        assert!(begin.elapsed() < PATIENCE, "no answer came");
        std::thread::sleep(Duration::from_millis(100));
        let parent = desk.runs().into_iter().next();
        let log = parent.as_ref().and_then(|parent| std::fs::read_to_string(parent.join("run-1/run.jsonl")).ok());
        if let (Some(parent), Some(true)) = (parent, log.map(|text| text.matches("{\"request\"").count() > 2)) {
            break parent;
        }
    };
    signal(&child, "-INT");
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("0 of 5 runs counted") && text.contains("broken off"), "{text}");
    assert_eq!(names(&parent), ["repeats.json", "run-1"].map(str::to_owned).into());
}
