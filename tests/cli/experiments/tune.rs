//! `skyline tune`: the flags of a server with which it serves most, against mocks that it starts itself.

use std::path::PathBuf;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, free_port};

/// Mocks with two slots and with eight: each request takes 90 ms of a slot.
fn slots(port: u16) -> String {
    format!(
        r#"
name = "slots"
objectives = ["p95 ttft < 400ms"]
[requests]
input_tokens = 16
output_tokens = 8
rate_per_s = 16
warmup_s = 0
[server]
url = "http://127.0.0.1:{port}"
engine = "mock"
gpu_hour = 2.5
gpus = 1
serve = "exec $SKYLINE mock --port {port} --ttft 20ms --itl 10ms {{flags}}"
[axes]
slots = [2, 8]
"#
    )
}

/// The one folder in a folder of results.
fn only(desk: &Desk, results: &str) -> PathBuf {
    std::fs::read_dir(desk.path().join(results)).unwrap().next().unwrap().unwrap().path()
}

const SHORT: [&str; 9] = [
    "--seconds=1500ms",
    "--pause=0s",
    "--no-calibration",
    "--allow-invalid",
    "--out=r",
    "--seed=3",
    "--max-runs=8",
    "--wait=20s",
    "--full",
];

#[test]
fn the_flags_that_serve_most_are_found_stored_and_shown_again() {
    let desk = Desk::new();
    let port = free_port();
    desk.file("t.toml", &slots(port));
    let run = desk.skyline(&[&["tune", "t.toml"], SHORT.as_slice()].concat()).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("FOUND: --slots 8 serves most"), "{text}");
    for said in ["gain", "cost", "runner-up", "2: at ", "--ttft 20ms --itl 10ms --slots 8", "of 2 variants"] {
        assert!(text.contains(said), "no {said} in\n{text}");
    }
    assert!(text.contains("8 runs and ") && text.contains("as many runs as it may have"), "{text}");
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("starting variant 2: ") && said.contains("run 1, round 1: 2 at 16"), "{said}");

    let folder = only(&desk, "r");
    let json: Value = serde_json::from_slice(&std::fs::read(folder.join("tune.json")).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["decision"]["best"]), (&1.into(), &"8".into()));
    assert!(json["decision"]["per_gpu"].as_f64().unwrap() > 22.0, "{}", json["decision"]);
    assert_eq!(json["variants"][0]["standing"], "dropped");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("--slots 8 serves most"));
    let folder = folder.to_str().unwrap();
    let again = desk.skyline(&["report", folder]).assert().code(0);
    assert_eq!(String::from_utf8(again.get_output().stdout.clone()).unwrap(), text);
    desk.skyline(&["report", "r"]).assert().code(0).stdout(contains("tune"));
    desk.skyline(&["report", folder, "--objective", "p95 ttft < 1s"])
        .assert()
        .code(2)
        .stderr(contains("a tuning has its own"));

    // What is stored is read again, and nothing is started.
    let resumed = [&["tune", "t.toml", "--resume", folder], SHORT.as_slice()].concat();
    let resumed: Vec<&str> = resumed.into_iter().filter(|word| *word != "--out=r").collect();
    let resumed = desk.skyline(&resumed).assert().code(0).stderr(contains("starting").not());
    assert_eq!(String::from_utf8(resumed.get_output().stdout.clone()).unwrap(), text);
    let other = ["tune", "t.toml", "--resume", folder, "--seconds=1"];
    desk.skyline(&other).assert().code(2).stderr(contains("belongs to another experiment"));
}

#[test]
fn a_tuning_is_planned_and_simulated_without_a_server() {
    let desk = Desk::new();
    let plan = desk.skyline(&["tune", "tune_seqs", "--plan"]).assert().code(0);
    plan.stdout(contains("6 variants").and(contains("--max-num-seqs 256")).and(contains("nothing is sent")));
    let example = desk.skyline(&["tune", "--example"]).assert().code(0);
    desk.file("mine.toml", &String::from_utf8(example.get_output().stdout.clone()).unwrap());
    let simulated = ["simulate", "mine.toml", "4", "--tune", "--quiet", "--out", "v"];
    let text = desk.skyline(&simulated).assert().code(0).stdout(contains("FOUND: --max-num-seqs"));
    text.stdout(contains("predictions agree with what was measured"));
    let folder = only(&desk, "v");
    assert!(folder.join("tune.json").is_file() && folder.join("16-1024/run-1/run.jsonl").is_file());
}

#[test]
fn what_cannot_be_tuned_is_refused_before_anything_runs() {
    let desk = Desk::new();
    let file = slots(9);
    let without = file.lines().filter(|line| !line.starts_with("serve")).collect::<Vec<_>>().join("\n");
    desk.file("t.toml", &without);
    desk.skyline(&["tune", "t.toml"]).assert().code(2).stderr(contains("has no `serve` command"));
    desk.file("t.toml", &file.replace("slots = [2, 8]", "slots = 8"));
    desk.skyline(&["tune", "t.toml"]).assert().code(2).stderr(contains("no list of values"));
    desk.file("t.toml", &file.replace("slots = [2, 8]", "eager = [true, false]"));
    let simulated = desk.skyline(&["simulate", "t.toml", "--tune"]).assert().code(2);
    simulated.stderr(contains("variant on cannot be simulated"));
    desk.skyline(&["simulate", "--tune"]).assert().code(2).stderr(contains("needs a file of axes"));
    desk.skyline(&["simulate", "t.toml", "--tune", "--rate=3"]).assert().code(2);
    desk.skyline(&["simulate", "t.toml", "--tune", "--hardware=h100"]).assert().code(2);
}
