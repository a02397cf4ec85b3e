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
    let folder = desk.file("x", "").parent().unwrap().to_owned();
    let generators: Vec<Child> = (1..=shards)
        .map(|shard| {
            Command::new(assert_cmd::cargo::cargo_bin("skyline"))
                .current_dir(&folder)
                .args(["bench", "quick.toml", "--no-calibration", "--allow-invalid", "--url", &mock.url])
                .args(["--engine", "mock", "--shard", "auto"])
                // As an array of Slurm starts them.
                .envs([("SLURM_ARRAY_TASK_ID", shard.to_string()), ("SLURM_ARRAY_TASK_MIN", "1".to_owned())])
                .env("SLURM_ARRAY_TASK_COUNT", shards.to_string())
                .args(["--start-together", "start", "--start-wait", "3m", "--max-concurrency", "39"])
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
    // The cap was divided, and is whole again.
    let caps = [&summary(&shards[0]), &summary(&shards[1]), &merged]
        .map(|run| run["run"]["limits"]["max_concurrency"].clone());
    assert_eq!(caps, [20, 19, 39]);
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
    let (desk, later) = (Desk::new(), "2100-01-01T00:00:00Z".to_owned());
    let bench = |options: &[&str]| desk.skyline(&[&["bench", "quick.toml"], options].concat()).assert();
    bench(&["--shard", "1/2"]).code(2).stderr(contains("a server that all generators share").and(contains("--url")));
    bench(&["--shard", "3/2"]).code(2).stderr(contains("write 1/2 for the first of two"));
    bench(&["--start-at", "2026-01-01T00:00:00Z"])
        .code(2)
        .stderr(contains("has passed").and(contains("a minute ahead")));
    for conflict in [&["--start-together", "x"][..], &["--shard", "1/2", "--start-together", "x", "--start-at", &later]]
    {
        bench(conflict).code(2).stderr(contains("--start-together"));
    }
    bench(&["--shard", "1/2", "--start-wait", "1m"]).code(2).stderr(contains("--start-together"));
    bench(&["--start-at", "noon"]).code(2).stderr(contains("2026-11-21T08:00:00Z"));
    assert!(desk.runs().is_empty());
}

#[test]
fn a_share_is_that_of_the_rank_that_the_environment_names() {
    let (desk, mock) = (Desk::new(), mock(&["--ttft", "1ms", "--itl", "1ms"]));
    let bench = |variables: &[(&str, &str)], options: &[&str]| {
        let typed = ["bench", "quick.toml", "--url", &mock.url, "--engine", "mock", "--no-calibration", "--dry-run"];
        let mut skyline = desk.skyline(&[&typed[..], options].concat());
        skyline.envs(variables.iter().copied()).assert()
    };
    let pod = [("JOB_COMPLETION_INDEX", "1"), ("SKYLINE_SHARDS", "2")];
    bench(&pod, &["--shard", "auto"]).code(0).stdout(contains("2/2 of the plan"));
    bench(&pod[..1], &["--shard", "auto/4"]).code(0).stdout(contains("2/4 of the plan"));
    // An option from the environment is like any other.
    bench(&[&pod[..], &[("SKYLINE_SHARD", "auto")]].concat(), &[]).code(0).stdout(contains("2/2 of the plan"));
    bench(&pod, &[]).code(0).stderr(contains("number 2 of 2 (Kubernetes Indexed Job), and sends the whole plan"));
    bench(&pod, &["--shard", "1/2"]).code(0).stderr(contains("warning").not());

    bench(&[], &["--shard", "auto"]).code(2).stderr(contains("names no rank: none of").and(contains("SLURM_PROCID")));
    bench(&pod[..1], &["--shard", "auto"]).code(2).stderr(contains("SKYLINE_SHARDS, the number of processes, is not"));
    bench(&pod[..1], &["--shard", "auto/1"])
        .code(2)
        .stderr(contains("JOB_COMPLETION_INDEX=1 (Kubernetes Indexed Job)"));
    let tasks = [("SLURM_PROCID", "x"), ("SLURM_NTASKS", "2"), ("SLURM_STEP_ID", "0")];
    bench(&tasks, &["--shard", "auto"]).code(2).stderr(contains("SLURM_PROCID is `x`").and(contains("--shard 1/8")));
    assert!(desk.runs().is_empty());
}

#[test]
fn shards_that_do_not_come_together_are_not_flown() {
    let (desk, mock) = (Desk::new(), mock(&["--ttft", "1ms", "--itl", "1ms"]));
    let typed = ["bench", "quick.toml", "--no-calibration", "--url", &mock.url, "--engine", "mock", "--shard", "1/3"];
    let bench = |options: &[&str]| desk.skyline(&[&typed[..], options].concat()).assert();
    let alone = ["--start-together", "start", "--start-wait", "500ms"];
    bench(&alone).code(3).stderr(contains("shard 2/3, 3/3 did not come to start within").and(contains("--start-wait")));
    let file = desk.file("start-file", "").to_str().unwrap().to_owned();
    bench(&["--start-together", &file]).code(2).stderr(contains("a folder that all generators can write to"));
    bench(&["--max-concurrency", "2"]).code(2).stderr(contains("2 requests in flight cannot be divided over 3 shards"));
    bench(&["--max-concurrency", "7", "--dry-run"]).code(0).stderr(contains("shard 1/3 keeps at most 3 requests"));
    assert!(desk.runs().is_empty());
}
