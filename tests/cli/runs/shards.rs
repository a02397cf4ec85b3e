//! Several generators, one run: shards flown at the same time against one server, and joined.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::mock_process::MockProcess;
use crate::support::{Desk, mock};

/// Flies all shards of the quick workload at the same time; their folders in order.
fn fly(desk: &Desk, mock: &MockProcess, shards: usize) -> Vec<PathBuf> {
    // Loosely: the time that this machine may take to start them all and to make them ready.
    let start = (jiff::Timestamp::now() + std::time::Duration::from_secs(12)).to_string();
    let folder = desk.file("x", "").parent().unwrap().to_owned();
    let generators: Vec<Child> = (1..=shards)
        .map(|shard| {
            Command::new(assert_cmd::cargo::cargo_bin("skyline"))
                .current_dir(&folder)
                .args(["bench", "quick.toml", "--no-calibration", "--allow-invalid", "--url", &mock.url])
                .args(["--engine", "mock", "--shard", &format!("{shard}/{shards}"), "--start-at", &start])
                .args(["--out", &format!("shard-{shard}"), "--objective", "error_rate < 1%"])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for generator in generators {
        let out = generator.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    }
    (1..=shards).map(|shard| only_folder_in(&folder.join(format!("shard-{shard}")))).collect()
}

fn only_folder_in(folder: &Path) -> PathBuf {
    let mut found = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let one = found.next().unwrap();
    assert!(found.next().is_none());
    one
}

fn summary(run: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap()
}

/// The records of a run, measured ones only.
fn measured(run: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(run.join("run.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = lines.filter_map(|line| line.get("request").cloned());
    records.filter(|record| record["phase"] == "measured").collect()
}

/// The quantile by linear interpolation between closest ranks, as numpy computes it.
fn quantile(values: &mut [f64], fraction: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() - 1) as f64 * fraction;
    let (low, high) = (values[rank.floor() as usize], values[rank.ceil() as usize]);
    low + (high - low) * rank.fract()
}

#[test]
fn two_shards_are_one_run() {
    let (desk, mock) = (Desk::new(), mock(&["--ttft", "20ms", "--itl", "5ms"]));
    let shards = fly(&desk, &mock, 2);
    let [first, second] = [&shards[0], &shards[1]].map(|run| run.to_str().unwrap());
    let out = desk.skyline(&["merge", second, first, "--out", "whole", "--allow-invalid"]).assert().code(0);
    let report = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let words = String::from_utf8(out.get_output().stderr.clone()).unwrap();
    // On a busy machine it may be INVALID for what the machine did, as long as nothing is lost.
    assert!(report.contains("VALID: 39 of 39 requests completed"), "{report}");
    assert!(words.contains("2 shards began 0 ms apart"), "{words}");
    let whole = only_folder_in(&shards[0].parent().unwrap().parent().unwrap().join("whole"));
    assert!(whole.file_name().unwrap().to_str().unwrap().starts_with("quick-mock-merged-"), "{whole:?}");

    // A shard's own report is about its own requests and no others.
    for (run, (number, requests)) in shards.iter().zip([(1, 20), (2, 19)]) {
        let own = summary(run);
        assert_eq!(own["run"]["shard"]["number"], number);
        let counts = (&own["requests"]["planned"], &own["requests"]["completed"]);
        assert_eq!(counts, (&requests.into(), &requests.into()));
        assert_eq!(own["requests"]["unrecorded"], 0);
    }

    // The merged one is about all of them, each once, of the plan that one generator would have flown.
    let merged = summary(&whole);
    let counts = &merged["requests"];
    assert_eq!((&counts["planned"], &counts["completed"]), (&39.into(), &39.into()), "{counts}");
    assert_eq!((&counts["unplanned"], &counts["unrecorded"]), (&0.into(), &0.into()), "{counts}");
    let mut union: Vec<Value> = shards.iter().flat_map(|run| measured(run)).collect();
    union.sort_by_key(|record| record["index"].as_u64());
    let places: Vec<u64> = union.iter().map(|record| record["index"].as_u64().unwrap()).collect();
    assert_eq!(places, (0..39).collect::<Vec<_>>());
    let predicted = desk.skyline(&["simulate", "quick.toml", "--json"]).assert().code(0);
    let predicted: Value = serde_json::from_slice(&predicted.get_output().stdout).unwrap();
    assert_eq!(merged["run"]["plan_hash"], predicted["summary"]["run"]["plan_hash"]);
    assert_eq!((&merged["run"]["shard"], &merged["window"]["end_s"]), (&Value::Null, &2.0.into()));

    // Its figures are those of the union, computed here.
    let mut ttft: Vec<f64> = union
        .iter()
        .map(|record| {
            let first = record["chunks"]["gaps_ns"][0].as_f64().unwrap();
            (first - record["scheduled_ns"].as_f64().unwrap()) / 1e6
        })
        .collect();
    for (name, fraction) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let shown = merged["latency"]["ttft"][name]["value_ms"].as_f64().unwrap();
        let computed = quantile(&mut ttft, fraction);
        assert!((shown - computed).abs() < 1e-6, "{name}: {shown} shown, {computed} computed");
    }
    assert_eq!(merged["latency"]["ttft"]["n"], 39);
    assert_eq!(merged["objectives"].as_array().unwrap().len(), 1, "the same one of both");

    // And it is a run like any other.
    let again = desk.skyline(&["report", whole.to_str().unwrap(), "--allow-invalid"]).assert().code(0);
    assert_eq!(String::from_utf8(again.get_output().stdout.clone()).unwrap(), report);

    // Half of it is not.
    desk.skyline(&["merge", first]).assert().code(2).stderr(contains("shard 2/2 is missing"));
    desk.skyline(&["merge", first, first]).assert().code(2).stderr(contains("are both shard 1/2"));
    desk.skyline(&["merge", whole.to_str().unwrap()]).assert().code(2).stderr(contains("is not a shard"));
}

#[test]
fn shards_that_could_not_be_one_run_are_not_flown() {
    let desk = Desk::new();
    let bench = |options: &[&str]| desk.skyline(&[&["bench", "quick.toml"], options].concat()).assert();
    bench(&["--shard", "1/2"]).code(2).stderr(contains("a server that all generators share").and(contains("--url")));
    bench(&["--shard", "3/2"]).code(2).stderr(contains("write 1/2 for the first of two"));
    bench(&["--start-at", "2026-01-01T00:00:00Z"])
        .code(2)
        .stderr(contains("has passed").and(contains("a minute ahead")));
    bench(&["--start-at", "noon"]).code(2).stderr(contains("2026-11-21T08:00:00Z"));
    assert!(desk.runs().is_empty());
}
