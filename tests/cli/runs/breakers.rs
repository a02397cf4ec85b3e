//! `--abort-on`: a run that only does harm by going on ends early, and everything is kept.

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::{Desk, answer, control, mock, serve, stream};

/// The page of a GPU exporter, which knows nothing of requests.
const DCGM: &str = include_str!("../../data/telemetry/dcgm.txt");

/// A server that answers its first requests, and then two of three with 500.
fn failing(first: usize) -> String {
    let address = serve(move |seen| match control(seen) {
        Some(said) => said,
        None if seen.generation < first || seen.generation % 3 == 0 => stream(8),
        None => answer("500 Internal Server Error", "application/json", "{\"error\":\"out of memory\"}"),
    });
    format!("http://{address}")
}

#[test]
fn a_breaker_ends_the_run_with_1_and_the_report_says_which_and_when() {
    let (desk, url) = (Desk::new(), failing(20));
    let bench = ["bench", "quick.toml", "60", "--url", &url, "--no-calibration"];
    desk.skyline(&[&bench[..], &["--abort-on", "error_rate > 50% for 1s"]].concat())
        .assert()
        .code(1)
        .stdout(contains("`error_rate > 50% for 1s` ended the run").and(contains("--abort-on none")));
    let summary = desk.summary();
    assert_eq!(summary["window"]["ending"], "aborted");
    assert_eq!(summary["breaker"]["breaker"], "error_rate > 50% for 1s");
    assert!(summary["window"]["end_s"].as_f64().unwrap() < 30.0, "{}", summary["window"]);
    let requests = &summary["requests"];
    let ended = requests["completed"].as_u64().unwrap() + requests["failed"].as_u64().unwrap();
    assert!(ended >= 20 && requests["censored"] == 0, "{requests}");
    desk.assert_schema("summary", &summary);
    // The stored run says it again, with the same exit code.
    desk.skyline(&["report", desk.run().to_str().unwrap()]).assert().code(1).stdout(contains("ended the run"));
}

#[test]
fn none_leaves_the_default_out_and_nonsense_is_refused() {
    let desk = Desk::new();
    let dry = |more: &[&str]| {
        let run = desk.skyline(&[&["bench", "quick.toml", "--dry-run"], more].concat()).assert().code(0);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let aborts_on = |said: String| {
        let line = said.lines().find(|line| line.contains("aborts on")).unwrap().to_owned();
        line.replace("aborts on", "").trim().to_owned()
    };
    assert_eq!(aborts_on(dry(&[])), "error_rate > 50% for 10s");
    assert_eq!(aborts_on(dry(&["--abort-on", "none"])), "nothing");
    let added = dry(&["--abort-on", "in_flight > 500 for 10s"]);
    assert_eq!(aborts_on(added), "in_flight > 500 for 10s; error_rate > 50% for 10s");
    assert_eq!(aborts_on(dry(&["--abort-on", "error_rate > 9% for 1m"])), "error_rate > 9% for 1m");
    desk.skyline(&["bench", "quick.toml", "--abort-on", "errors > 50% for 10s"])
        .assert()
        .code(2)
        .stderr(contains("`errors` is not a figure of a breaker").and(contains("in_flight > 500 for 10s")));
    assert!(desk.runs().is_empty());
}

#[test]
fn a_breaker_that_can_never_hold_is_refused_or_named() {
    let (desk, url) = (Desk::new(), failing(1_000));
    let bench = ["bench", "quick.toml", "1", "--no-calibration", "--url", &url, "--abort-on"];
    let row = "name = \"t\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n";
    desk.file("t.toml", row);
    desk.file("capped.toml", &format!("{row}[[rows]]\nname = \"B\"\nworkload = \"quick.toml\"\nmax_concurrency = 2\n"));
    let matrix = |file| ["matrix", file, "--dry-run", "--abort-on", "queued > 5 for 1s"];
    let queued = [&bench[..], &["queued > 5 for 1s"]].concat();
    for typed in [&queued[..], &matrix("t.toml")] {
        let cure = contains("`queued > 5 for 1s` can never end a run").and(contains("add --max-concurrency"));
        desk.skyline(typed).assert().code(2).stderr(cure);
    }
    let waiting = [&bench[..], &["waiting > 5 for 1s"]].concat();
    let unread = [&waiting[..], &["--no-metrics"]].concat();
    desk.skyline(&unread).assert().code(2).stderr(contains("leave --no-metrics out"));
    assert!(desk.runs().is_empty(), "nothing is sent");
    desk.skyline(&[&queued[..], &["--max-concurrency", "2"]].concat()).assert().stderr(contains("never").not());
    desk.skyline(&matrix("capped.toml")).assert().code(0);
    let uncapped = [&matrix("capped.toml")[..], &["--only", "A"]].concat();
    desk.skyline(&uncapped).assert().code(2).stderr(contains("`queued > 5 for 1s` can never end a run"));
    let max = ["--rate", "max", "--max-concurrency", "2"];
    desk.skyline(&[&queued[..], &max].concat())
        .assert()
        .code(2)
        .stderr(contains("none waits").and(contains("in_flight")));
    let devices = serve(|_| answer("200 OK", "text/plain", DCGM));
    let page = format!("http://{devices}/metrics");
    desk.skyline(&[&waiting[..], &["--metrics-url", &page]].concat())
        .assert()
        .stderr(contains("`waiting > 5 for 1s` cannot end a run").and(contains("read later").not()));
    desk.skyline(&waiting).assert().stderr(contains("`waiting > 5 for 1s` cannot end a run"));
}

/// The mock ends in the middle of the run.
#[test]
#[cfg(target_os = "linux")]
fn the_default_breaker_ends_a_run_whose_server_dies() {
    let (desk, server) = (Desk::new(), mock(&["--ttft", "1ms", "--itl", "1ms"]));
    let bench = desk.start(&["bench", "quick.toml", "120", "--no-calibration", "--url", &server.url]);
    desk.await_answers();
    drop(server);
    assert_eq!(super::signals::code(bench), Some(1));
    let summary = desk.summary();
    assert_eq!(summary["breaker"]["breaker"], "error_rate > 50% for 10s");
    assert_eq!(summary["window"]["ending"], "aborted");
    let requests = &summary["requests"];
    assert!(requests["completed"].as_u64() > Some(0) && requests["failed"].as_u64() > Some(50), "{requests}");
}

#[test]
fn a_sweep_goes_on_and_repeats_end() {
    let (desk, url) = (Desk::new(), failing(4));
    let abort = ["--url", &url, "--no-calibration", "--pause", "0s", "--abort-on", "error_rate > 50% for 1s"];
    let sweep = ["sweep", "quick.toml", "--rates", "20,30", "--repeats", "1", "--allow-invalid"];
    desk.skyline(&[&sweep[..], &abort].concat()).assert().stderr(contains("run 2, 30.0/s: "));
    let folder = desk.run();
    let sweep: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("sweep.json")).unwrap()).unwrap();
    let points = sweep["points"].as_array().unwrap();
    // A run that a busy machine spoils says nothing of the load; the breaker ended it all the same.
    let is_ended = |point: &serde_json::Value| {
        let trial = &point["trials"][0];
        let spoiled = !trial["invalid"].as_array().unwrap().is_empty();
        trial["saturated"].is_string() && (point["class"] == "saturated" || spoiled)
    };
    assert!(points.len() == 2 && points.iter().all(is_ended), "{points:?}");
    std::fs::remove_dir_all(folder).unwrap();
    let url = failing(4);
    let url = ["--url", &url, "--no-calibration", "--abort-on", "error_rate > 50% for 1s"];
    desk.skyline(&[&["bench", "quick.toml", "30", "--repeats", "3"], &url[..]].concat())
        .assert()
        .code(1)
        .stderr(contains("run-1: `error_rate > 50% for 1s` ended the run"))
        .stdout(contains("no more runs started"));
    assert!(!desk.run().join("run-2").exists());
}

#[test]
fn an_absurd_rate_is_refused_without_calibration_too() {
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--rate", "100000", "--no-calibration"])
        .assert()
        .code(3)
        .stderr(contains("too much for any machine").and(contains("leave --no-calibration out")));
    assert!(desk.runs().is_empty(), "nothing is sent");
}
