//! `--format`: which files it leaves where, and what they say of each other.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

/// A run that is kept.
fn simulated(desk: &Desk) -> String {
    desk.skyline(&["simulate", "quick.toml", "--out", "results", "--json"]).assert().code(0);
    desk.run().to_str().unwrap().to_owned()
}

#[test]
fn several_formats_at_once_are_files_in_the_run_folder() {
    let desk = Desk::new();
    let run = simulated(&desk);
    let report =
        desk.skyline(&["report", &run, "--format", "json,csv", "--format", "jsonl,parquet,svg"]).assert().code(0);
    let summary: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    let words = String::from_utf8(report.get_output().stderr.clone()).unwrap();
    let tables = ["summary.csv", "requests.csv", "requests.jsonl", "requests.parquet", "tokens.parquet"];
    let files = tables.iter().chain(&["charts.svg", "charts-dark.svg"]);
    for file in files.clone() {
        let path = format!("{run}/{file}");
        assert!(words.contains(&path), "{words}");
        assert!(std::fs::metadata(&path).unwrap().len() > 0, "{path}");
    }
    assert_eq!(words.lines().count(), files.count());
    // The median of a column is that of the summary.
    let text = std::fs::read_to_string(format!("{run}/requests.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ttft: Vec<f64> =
        rows.filter(|row| row["phase"] == "measured").map(|row| row["ttft_ms"].as_f64().unwrap()).collect();
    ttft.sort_by(f64::total_cmp);
    let middle = ttft[(ttft.len() - 1) / 2].midpoint(ttft[ttft.len() / 2]);
    let p50 = summary["latency"]["ttft"]["p50"]["value_ms"].as_f64().unwrap();
    assert!((middle - p50).abs() < 1e-9, "{middle} is not {p50}");
}

#[test]
fn one_file_goes_to_a_pipe_or_to_a_path() {
    let desk = Desk::new();
    let run = simulated(&desk);
    let piped = desk.skyline(&["report", &run, "--format", "summary.csv=-"]).assert().code(0).stderr("");
    let piped = String::from_utf8(piped.get_output().stdout.clone()).unwrap();
    assert!(piped.starts_with("run,seed,scope,name,metric,statistic,value,"), "{piped}");
    assert!(piped.contains(",run,quick,ttft,p99,"), "{piped}");
    let there = desk.file("frames/here", "");
    let there = there.parent().unwrap();
    let parquet = format!("parquet={}", there.display());
    desk.skyline(&["report", &run, "--format", &parquet]).assert().code(0).stdout(contains("VALID"));
    assert!(there.join("tokens.parquet").exists() && !desk.run().join("tokens.parquet").exists());
}

#[test]
fn stored_experiments_keep_their_schema() {
    let desk = Desk::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/experiments");
    let printed = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&desk.skyline(arguments).output().unwrap().stdout).unwrap()
    };
    for (name, folder) in [("sweep", "sweep-schema-1"), ("ab", "ab-schema-1")] {
        let validator = jsonschema::validator_for(&printed(&["report", "--json-schema", name])).unwrap();
        let mut report = printed(&["report", &format!("{data}/{folder}"), "--json"]);
        let errors: Vec<_> =
            validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
        report["surprise"] = 1.into();
        assert!(!validator.is_valid(&report), "{name}: the schema can tell");
    }
}

/// A table is longer than what a pipe holds, and who reads three lines of it has all they want.
#[cfg(unix)]
#[test]
fn a_reader_that_has_enough_is_no_error() {
    use std::io::Read;
    use std::process::Stdio;

    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--requests", "1500", "--out", "results", "--json"]).assert().code(0);
    let run = desk.run();
    for format in ["requests.csv=-", "requests.jsonl=-", "requests.parquet=-", "tokens.parquet=-", "vllm=-", "json"] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("skyline"));
        command.arg("report").arg(&run).args(["--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut begin = [0; 16];
        child.stdout.take().unwrap().read_exact(&mut begin).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        // A busy machine takes so long that it says so.
        let mut said = said.lines().filter(|line| !line.starts_with("reading the run; "));
        assert_eq!((output.status.code(), said.next()), (Some(0), None), "{format}");
    }
}

#[test]
fn mistakes_are_told_before_any_load_is_sent() {
    let desk = Desk::new();
    let refused = |format: &str, sentence: &str| {
        let bench = ["bench", "quick.toml", "--url", "http://127.0.0.1:9", "--format", format];
        desk.skyline(&bench).assert().code(2).stdout("").stderr(contains(sentence.to_owned()));
    };
    refused("word", "the formats are text, json, ");
    refused("json,text", "both go to standard output");
    refused("csv=-", "several files");
    refused("csv=nowhere", "a folder is named");
    refused("jsonl=/nowhere/at/all.jsonl", "cannot write /nowhere/at/all.jsonl");
    refused("points.csv", "a run has no such form");
    refused("sweep.json", "a run has no such form");
    assert!(desk.runs().is_empty());
}

#[test]
fn a_bench_leaves_its_files_and_each_repeat_its_own() {
    let desk = Desk::new();
    let bench = ["bench", "quick.toml", "--allow-invalid", "--requests", "5", "--quiet", "--format", "csv,json"];
    let report = desk.skyline(&bench).assert().code(0).stderr(contains("requests.csv"));
    let summary: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    assert_eq!(summary["schema"], 4);
    let rows = std::fs::read_to_string(desk.run().join("requests.csv")).unwrap();
    let measured = |row: &&str| row.split(',').any(|cell| cell == "measured");
    assert_eq!(rows.lines().filter(measured).count(), 5);

    let desk = Desk::new();
    let repeats = ["simulate", "quick.toml", "--repeats", "2", "--out", "results", "--json"];
    desk.skyline(&repeats).assert().code(0);
    let series = desk.run();
    let path = series.to_str().unwrap();
    desk.skyline(&["report", path, "--format", "jsonl"]).assert().code(0).stdout(contains("2 runs"));
    assert!(["run-1", "run-2"].iter().all(|run| series.join(run).join("requests.jsonl").exists()));
    desk.skyline(&["report", path, "--format", "vllm"]).assert().code(0);
    let of_run = |run: &str| -> Value {
        serde_json::from_slice(&std::fs::read(series.join(run).join("vllm.json")).unwrap()).unwrap()
    };
    let all = desk.skyline(&["report", path, "--format", "vllm=-"]).assert().code(0);
    let all: Value = serde_json::from_slice(&all.get_output().stdout).unwrap();
    assert_eq!(all, Value::from(vec![of_run("run-1"), of_run("run-2")]));
    desk.skyline(&["report", path, "--format", "jsonl=all.jsonl"])
        .assert()
        .code(2)
        .stderr(contains("each writes a file into its own folder"));
}

#[test]
fn experiments_have_tables_and_pages_of_their_own() {
    let desk = Desk::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/experiments/sweep-schema-1");
    let path = desk.file("page/here", "");
    let folder = path.parent().unwrap();
    let to = |format: &str| format!("{format}={}", folder.display());
    let mut report = desk.skyline(&["report", data, "--format", &to("html"), "--format", &to("csv")]);
    report.assert().stderr(contains("html: ").and(contains("csv: ")));
    let points = std::fs::read_to_string(folder.join("points.csv")).unwrap();
    assert!(points.starts_with("load_kind,load,class,metric,value,"), "{points}");
    assert!(points.lines().count() > 10 && points.contains(",ttft_p99_ms,"), "{points}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    desk.skyline(&["report", data, "--format", "markdown=-"])
        .assert()
        .stdout(contains("## ").and(contains("### Loads")));
    desk.skyline(&["report", data, "--format", "parquet"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("a sweep has no such form").and(contains("its formats are text, json, html, csv")));
}

/// As vLLM's plots take several runs.
#[test]
fn the_runs_of_a_sweep_make_one_list() {
    let desk = Desk::new();
    let sweep = ["simulate", "quick.toml", "--sweep", "--rates", "20,10", "--samples", "20", "--repeats", "2"];
    desk.skyline(&sweep).args(["--allow-invalid", "--out", "results", "--quiet"]).assert().success();
    let folder = desk.run();
    let report = desk.skyline(&["report", folder.to_str().unwrap(), "--allow-invalid", "--format", "vllm"]).assert();
    report.code(0).stderr(contains("vllm.json"));
    let read = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let list = read("vllm.json");
    let completed: Vec<_> = list.as_array().unwrap().iter().map(|run| run["completed"].as_u64()).collect();
    // As their own summaries have it, in the order in which they were flown.
    let mut runs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    runs.sort();
    let runs = runs.iter().filter_map(|name| name.to_str().filter(|name| name.starts_with("run-")));
    let expected: Vec<_> =
        runs.map(|run| read(&format!("{run}/summary.json"))["requests"]["completed"].as_u64()).collect();
    assert_eq!(completed, expected);
    assert_eq!(completed.len(), 4);
}
