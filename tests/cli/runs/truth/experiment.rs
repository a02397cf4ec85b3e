//! The truth experiment: what `skyline bench` reports of a mock, beside what the mock wrote down of itself.
//!
//! Nothing of Skyline's own arithmetic is used: the figures of the truth come from the moments at which the mock's
//! writes had been taken by the operating system, mapped to the client's clock by the wall-clock time of both zeros,
//! with percentiles by linear interpolation between closest ranks.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::mock_process::MockProcess;

/// One load: what is flown against which mock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) mock: &'a [&'a str],
    pub(crate) bench: &'a [&'a str],
}

/// A reported figure beside the true one, milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) metric: &'static str,
    pub(crate) quantile: &'static str,
    pub(crate) reported_ms: f64,
    pub(crate) true_ms: f64,
}

const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Flies `load` with the binary at `skyline` in the empty `folder`.
pub(crate) fn fly(skyline: &Path, folder: &Path, load: Load<'_>) -> Vec<Row> {
    let log = folder.join("truth.ndjson");
    let truth = ["--truth", log.to_str().unwrap()];
    let mock = MockProcess::start(skyline, &[&truth, load.mock].concat());
    let results = folder.join("results");
    let bench = Command::new(skyline)
        .arg("bench")
        .args(load.bench)
        .args(["--json", "--quiet", "--no-calibration", "--engine", "mock", "--url", &mock.url, "--out"])
        .arg(&results)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&bench.stderr);
    let summary: Value = serde_json::from_slice(&bench.stdout).unwrap_or_else(|_| panic!("{words}"));
    let run = std::fs::read_dir(&results).unwrap().next().unwrap().unwrap().path().join("run.jsonl");
    let measured = measured(&lines(&run));
    assert!(!measured.is_empty(), "{words}");
    let truth = truth_of(&measured, &log);
    let _ = mock.end("-TERM");
    compare(&summary, &measured, &truth)
}

/// The truth log once it has every measured request: it is written as requests end.
fn truth_of(measured: &[Measured], log: &Path) -> Vec<Value> {
    for _ in 0..500 {
        let truth = lines(log);
        let ended: HashSet<&str> = truth.iter().filter_map(|line| line["id"].as_str()).collect();
        if measured.iter().all(|request| ended.contains(request.id.as_str())) {
            return truth;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the truth log does not have all of the {} measured requests", measured.len())
}

/// A request of the measured window: its name, and its planned moment in wall-clock nanoseconds.
struct Measured {
    id: String,
    scheduled: i128,
}

fn measured(run: &[Value]) -> Vec<Measured> {
    let header = &run[0]["header"];
    let (zero, prefix) = (wall_clock(&header["started_at"]), &header["engines"][0]["request_id_prefix"]);
    let requests = run.iter().map(|line| &line["request"]).filter(|request| request["phase"] == "measured");
    let measured = requests.map(|request| {
        assert_eq!(request["outcome"]["kind"], "completed", "{request}");
        Measured {
            id: format!("chatcmpl-{}{:012x}", prefix.as_str().unwrap(), request["index"].as_u64().unwrap()),
            scheduled: zero + nanos(&request["scheduled_ns"]),
        }
    });
    measured.collect()
}

fn compare(summary: &Value, measured: &[Measured], truth: &[Value]) -> Vec<Row> {
    let zero = wall_clock(&truth[0]["header"]["clock_zero"]);
    let by_id: HashMap<&str, &Value> = truth.iter().filter_map(|line| Some((line["id"].as_str()?, line))).collect();
    let [mut ttft, mut itl, mut e2e] = [const { Vec::new() }; 3];
    for Measured { id, scheduled } in measured {
        let writes = by_id[id.as_str()]["writes"].as_array().unwrap();
        let done: Vec<i128> = writes.iter().map(|write| zero + nanos(&write["done_ns"])).collect();
        ttft.push(ms(done[0] - scheduled));
        e2e.push(ms(done[done.len() - 1] - scheduled));
        for (pair, write) in done.windows(2).zip(&writes[1..]) {
            // A gap in which several tokens came is so many equal gaps.
            let tokens = write["tokens"].as_u64().unwrap();
            itl.extend((0..tokens).map(|_| ms(pair[1] - pair[0]) / tokens as f64));
        }
    }
    let mut rows = Vec::new();
    for (metric, mut sample) in [("ttft", ttft), ("itl", itl), ("e2e", e2e)] {
        sample.sort_by(f64::total_cmp);
        for (quantile, share) in QUANTILES {
            let reported = &summary["latency"][metric][quantile]["value_ms"];
            let reported_ms = reported.as_f64().unwrap_or_else(|| panic!("{metric} {quantile}: {reported}"));
            rows.push(Row { metric, quantile, reported_ms, true_ms: interpolated(&sample, share) });
        }
    }
    rows
}

/// Linear interpolation between closest ranks, as numpy's default.
fn interpolated(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    // The last line may still be on its way.
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn wall_clock(value: &Value) -> i128 {
    value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_nanosecond()
}

fn nanos(value: &Value) -> i128 {
    i128::from(value.as_u64().unwrap())
}

fn ms(nanos: i128) -> f64 {
    nanos as f64 / 1e6
}
