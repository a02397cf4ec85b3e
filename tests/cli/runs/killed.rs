//! A log after a kill or damage, as the binary reads it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, control, serve_by_hand, stream};

/// The requests of a plan that a server has seen, by their ids, and when.
#[derive(Default)]
struct SeenRequests {
    came: Vec<(String, Instant)>,
    answered: Vec<(String, Instant)>,
}

/// What ended before a kill is in the log, but for its last moments, and what was in flight is said to have been. A busy
/// machine may take far longer than 20 ms to write anything.
#[test]
fn a_killed_run_keeps_what_had_ended_and_names_what_was_in_flight() {
    const MOMENT: Duration = Duration::from_millis(500);
    let server = Arc::new(Mutex::new(SeenRequests::default()));
    let seen_by_server = Arc::clone(&server);
    let address = serve_by_hand(move |seen, socket| {
        if let Some(answer) = control(seen) {
            return socket.write_all(answer.as_bytes()).unwrap_or_default();
        }
        let id = seen.head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap_or_default();
        seen_by_server.lock().unwrap().came.push((id.to_owned(), Instant::now()));
        // Every fourth of the plan is never answered.
        if id.bytes().last().is_some_and(|digit| "37bf".contains(char::from(digit))) {
            std::thread::sleep(Duration::from_secs(60));
        }
        let _ = socket.write_all(stream(8).as_bytes());
        seen_by_server.lock().unwrap().answered.push((id.to_owned(), Instant::now()));
    });
    let desk = Desk::new();
    let url = format!("http://{address}");
    let run =
        ["bench", "quick.toml", "60", "--rate", "60", "--engine", "vllm", "--no-metrics", "--url", &url];
    let mut child = desk.start(&[&run[..], &["--no-calibration"]].concat());
    let begin = Instant::now();
    while server.lock().unwrap().answered.len() < 100 {
        assert!(begin.elapsed() < Duration::from_secs(50), "no answers");
        std::thread::sleep(Duration::from_millis(20));
    }
    let in_time = Instant::now().checked_sub(MOMENT).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    let lines = |key: &str| desk.lines(key);
    let prefix = lines("header")[0]["engine"]["request_id_prefix"].as_str().unwrap().to_owned();
    let before = |seen: &[(String, Instant)], moment: Instant| -> BTreeSet<u64> {
        let seen = seen.iter().filter(|(_, at)| *at < moment);
        seen.filter_map(|(id, _)| u64::from_str_radix(id.strip_prefix(&prefix)?, 16).ok()).collect()
    };
    let index = |value: &Value| value["index"].as_u64().unwrap();
    let recorded: BTreeSet<u64> = lines("request").iter().map(index).collect();
    let unended = lines("in_flight").into_iter().flat_map(|line| line.as_array().unwrap().clone());
    let known: BTreeSet<u64> = unended.map(|request| index(&request)).chain(recorded.clone()).collect();
    let server = server.lock().unwrap();
    let surely_over = before(&server.answered, in_time);
    assert!(surely_over.len() > 20 && surely_over.is_subset(&recorded), "{surely_over:?} {recorded:?}");
    let surely_come = before(&server.came, in_time);
    assert!(surely_come.is_subset(&known), "{surely_come:?} {known:?}");
    assert!(recorded.is_subset(&before(&server.came, Instant::now())));

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
    assert_eq!(
        (&report["log_damage"]["lost_lines"], &report["unrecorded_requests"][0]),
        (&1.into(), &6.into())
    );
    desk.skyline(&["workloads", "fit", run]).assert().success().stdout(contains("line 8 was altered"));
    let fit = desk.skyline(&["simulate", "quick.toml", "--fit", run]).assert().code(2);
    fit.stderr(contains("line 8 was altered").and(contains("leave this run out")));
}
