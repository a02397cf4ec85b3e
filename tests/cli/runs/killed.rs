//! A log after a kill or damage, as the binary reads it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, PATIENCE, control, serve_by_hand, stream};

/// The requests of a plan that a server has seen, by their ids.
#[derive(Default)]
struct SeenRequests {
    came: Vec<String>,
    answered: Vec<String>,
}

/// What has ended is in the log while the run is on, and so is what is in flight: a kill takes neither away. However long a
/// busy machine takes to write them.
#[test]
fn a_killed_run_keeps_what_had_ended_and_names_what_was_in_flight() {
    let server = Arc::new(Mutex::new(SeenRequests::default()));
    let seen_by_server = Arc::clone(&server);
    let address = serve_by_hand(move |seen, socket| {
        if let Some(answer) = control(seen) {
            return socket.write_all(answer.as_bytes()).unwrap_or_default();
        }
        let id = seen.head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap_or_default();
        seen_by_server.lock().unwrap().came.push(id.to_owned());
        // Every fourth of the plan is never answered.
        if id.bytes().last().is_some_and(|digit| "37bf".contains(char::from(digit))) {
            std::thread::sleep(2 * PATIENCE);
        }
        let _ = socket.write_all(stream(8).as_bytes());
        seen_by_server.lock().unwrap().answered.push(id.to_owned());
    });
    let desk = Desk::new();
    let url = format!("http://{address}");
    let run = ["bench", "quick.toml", "300", "--rate", "60", "--engine", "vllm", "--no-metrics", "--url", &url];
    let mut child = desk.start(&[&run[..], &["--no-calibration"]].concat());
    let begin = Instant::now();
    while server.lock().unwrap().answered.len() < 100 {
        assert!(begin.elapsed() < PATIENCE, "no answers");
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = || std::fs::read_to_string(desk.run().join("run.jsonl")).unwrap();
    let header: Value = serde_json::from_str(log().lines().next().unwrap()).unwrap();
    let prefix = header["header"]["engines"][0]["request_id_prefix"].as_str().unwrap().to_owned();
    let indices = |seen: &[String]| -> BTreeSet<u64> {
        seen.iter().filter_map(|id| u64::from_str_radix(id.strip_prefix(&prefix)?, 16).ok()).collect()
    };
    let (over, come) = {
        let server = server.lock().unwrap();
        (indices(&server.answered), indices(&server.came))
    };
    assert!(over.len() > 20);
    // What is recorded, and what is known besides.
    let logged = || -> (BTreeSet<u64>, BTreeSet<u64>) {
        // The last line may still be on its way, or have been at the kill.
        let lines: Vec<Value> = log().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let index = |request: &Value| request["index"].as_u64();
        let recorded: BTreeSet<u64> = lines.iter().filter_map(|line| index(&line["request"])).collect();
        let unended = lines.iter().filter_map(|line| line["in_flight"].as_array()).flatten();
        let known = unended.filter_map(index).chain(recorded.clone()).collect();
        (recorded, known)
    };
    let begin = Instant::now();
    let is_logged =
        |(recorded, known): (BTreeSet<u64>, BTreeSet<u64>)| recorded.is_superset(&over) && known.is_superset(&come);
    while !is_logged(logged()) {
        assert!(begin.elapsed() < PATIENCE / 2, "{over:?} {come:?} {:?}", logged());
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let (recorded, known) = logged();
    assert!(recorded.is_superset(&over) && known.is_superset(&come), "{recorded:?} {known:?}");
    assert!(recorded.is_subset(&indices(&server.lock().unwrap().came)));

    let run = desk.run();
    let report = desk.skyline(&["report", run.to_str().unwrap(), "--json"]).assert().code(3);
    let report: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    desk.assert_schema("summary", &report);
    let (counts, in_flight) = (&report["requests"], (known.len() - recorded.len()) as u64);
    assert!(in_flight > 5, "{counts}");
    assert_eq!((&counts["in_flight"], &counts["completed"]), (&in_flight.into(), &recorded.len().into()));
    let never_due = counts["planned"].as_u64().unwrap() - known.len() as u64;
    assert_eq!((&counts["never_due"], &counts["unrecorded"]), (&never_due.into(), &0.into()), "{counts}");
    let said = contains("the run was cut off").and(contains(format!("with {in_flight} requests in")));
    desk.skyline(&["report", run.to_str().unwrap()]).assert().code(3).stdout(said);
}

/// One digit of a stamp: the run is INVALID, and the report names the line and the request.
#[test]
fn a_changed_digit_is_named() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--out", "results"]).assert().code(0);
    let (run, log) = (desk.run(), desk.run().join("run.jsonl"));
    let run = run.to_str().unwrap();
    let mut lines: Vec<String> =
        std::fs::read_to_string(&log).unwrap().split_inclusive('\n').map(str::to_owned).collect();
    let ended = lines[7].find("\"ended_ns\":").unwrap() + "\"ended_ns\":".len();
    let digit = if lines[7].as_bytes()[ended] == b'1' { "2" } else { "1" };
    lines[7].replace_range(ended..=ended, digit);
    std::fs::write(&log, lines.concat()).unwrap();
    let named = contains("INVALID").and(contains("line 8 was altered")).and(contains("(request 6)"));
    desk.skyline(&["report", run]).assert().code(3).stdout(named);
    let report = desk.skyline(&["report", run, "--json"]).assert().code(3);
    let report: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    desk.assert_schema("summary", &report);
    assert_eq!((&report["log_damage"]["lost_lines"], &report["unrecorded_requests"][0]), (&1.into(), &6.into()));
    desk.skyline(&["workloads", "fit", run]).assert().success().stdout(contains("line 8 was altered"));
    let fit = desk.skyline(&["simulate", "quick.toml", "--fit", run]).assert().code(2);
    fit.stderr(contains("line 8 was altered").and(contains("leave this run out")));
}
