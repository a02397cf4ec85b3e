//! Closed loops and conversations as a person meets them: what the report says, what is kept, what is refused.

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;

use crate::quick::QUICK;
use crate::support::Desk;

/// Constant delays, so that every figure of a run in virtual time is known: 50 ms to the first of 8 tokens, one at a time.
const PLAIN: [&str; 6] = ["--ttft", "50ms", "--itl", "0ms", "--places", "1"];

fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.assert().code(0).get_output().stdout.clone()).unwrap()
}

fn json(command: &mut Command) -> Value {
    serde_json::from_str(&stdout(command)).unwrap()
}

/// The part of a report from the line that begins so to the next blank line.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let begin = text.find(heading);
    assert!(begin.is_some(), "no {heading:?} in\n{text}");
    text[begin.unwrap()..].split("\n\n").next().unwrap()
}

/// What people coming from other tools type first.
const PEERS: [&str; 6] = ["--input-tokens", "128", "--output-tokens", "16", "--requests", "100"];

#[test]
fn a_closed_loop_of_so_many_requests_ends_after_them() {
    let desk = Desk::new();
    let simulated = json(&mut desk.skyline(&[&["simulate", "--json", "--users", "16"], &PEERS[..], &PLAIN].concat()));
    assert_eq!(simulated["summary"]["requests"]["completed"], 100, "{simulated}");
    assert_eq!(simulated["summary"]["window"]["cut_short"], false);
    // In a closed loop a client that sends late raises no latency, but a busy machine lowers the load.
    let flags = ["bench", "--json", "--rate", "inf", "--max-concurrency", "16", "--no-calibration"];
    let mut bench = desk.skyline(&[&flags[..], &["--allow-invalid"], &PEERS].concat());
    let output = bench.assert().code(0).stderr(contains("16 requests at once, and the next as each is answered"));
    let bench: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(bench["requests"]["completed"], 100, "{bench}");
    // All that is sent counts, over one time.
    let window = &bench["window"];
    assert_eq!((&window["warmup_requests"], &window["cooldown_requests"]), (&0.into(), &0.into()));
    let rate = bench["rates"]["completed_requests_per_s"].as_f64().unwrap();
    let seconds = window["end_s"].as_f64().unwrap() - window["start_s"].as_f64().unwrap();
    assert!((rate * seconds - 100.0).abs() < 1e-3, "{rate} for {seconds}");
    assert_eq!((&bench["run"]["workload"], &bench["window"]["cut_short"]), (&"synthetic".into(), &false.into()));
    // Read again, the run is the same.
    let run = desk.run();
    let report = ["report", run.to_str().unwrap(), "--json", "--allow-invalid"];
    assert_eq!(json(&mut desk.skyline(&report))["requests"], bench["requests"]);
}

#[test]
fn a_dry_run_sends_nothing_and_a_workload_comes_from_standard_input() {
    let desk = Desk::new();
    let text = stdout(desk.skyline(&["bench", "-", "2", "--dry-run", "--users", "3"]).write_stdin(QUICK));
    for said in ["DRY RUN", "quick", "3 users", "hash "] {
        assert!(text.contains(said), "no {said:?} in\n{text}");
    }
    assert!(desk.runs().is_empty(), "nothing is sent");
}

#[test]
fn compare_says_what_a_closed_loop_hides() {
    let desk = Desk::new();
    // Two users before one place of 50 ms, who think for 50 ms: it is always taken, and 20 a second are done.
    let simulate = |load: &[&str]| {
        let typed = [&["simulate", "quick.toml", "20", "--warmup", "2s", "--out", "results"], load, &PLAIN];
        let text = stdout(&mut desk.skyline(&typed.concat()));
        let mut runs = desk.runs();
        runs.sort_by_key(|run| std::fs::metadata(run.join("run.jsonl")).unwrap().modified().unwrap());
        (text, runs.last().unwrap().to_str().unwrap().to_owned())
    };
    let (text, closed) = simulate(&["--users", "2", "--think-time", "50ms"]);
    assert!(text.starts_with("VALID: closed loop, ") && !text.contains("requests offered"), "{text}");
    insta::assert_snapshot!(section(&text, "Closed loop"), @r"
    Closed loop
      reached  2 users: 20.0 requests/s; on average a request takes 50.0 ms from when it is due until
               its stream ends (e2e: from sending to the last token), and 50.0 ms of think time follow
      ! slow answers hold back the requests that would have queued behind them (coordinated omission),
        so these latencies are lower than those of users who arrive independently
        → run the same workload with --arrival poisson --rate 20.0 too, and compare: skyline compare
          CLOSED OPEN --vary rate
    ");
    let again = stdout(&mut desk.skyline(&["report", &closed]));
    assert_eq!(section(&again, "Closed loop"), section(&text, "Closed loop"));
    let again = json(&mut desk.skyline(&["report", &closed, "--json"]));
    assert_eq!((&again["run"]["load"], &again["rates"]["offered_requests_per_s"]), (&"closed".into(), &Value::Null));
    let checks = again["verdict"]["checks"].as_array().unwrap();
    let law = checks.iter().find(|check| check["rule"] == "interactive_law");
    assert_eq!(law.unwrap()["outcome"], "passed");

    let (_, open) = simulate(&["--rate", "19.9", "--arrival", "poisson"]);
    desk.skyline(&["compare", &closed, &open]).assert().code(2).stderr(contains("--vary rate"));
    let compare = ["compare", &closed, &open, "--vary", "rate", "--allow-invalid"];
    let compared = json(&mut desk.skyline(&[&compare[..], &["--json"]].concat()));
    let sides = compared["sides"].as_array().unwrap().iter().map(|side| &side["load"]);
    assert_eq!(sides.collect::<Vec<_>>(), ["closed", "open"]);
    let rows = compared["against"][0]["rows"].as_array().unwrap();
    let median = rows.iter().find(|row| row["figure"] == "p50 ttft").unwrap();
    assert!(median["change"]["value"].as_f64().unwrap() > 2.0, "{median}");
    let words = stdout(&mut desk.skyline(&compare)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("is what the closed loop of "), "{words}");
}

#[test]
fn bench_says_how_to_see_what_is_hidden() {
    let desk = Desk::new();
    let text = stdout(&mut desk.skyline(&["bench", "quick.toml", "--users", "2", "--allow-invalid", "--quiet"]));
    let words = section(&text, "Closed loop").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("too, and compare: skyline compare CLOSED OPEN --vary rate"), "{words}");
}

#[test]
fn conversations_are_told_turn_by_turn() {
    let desk = Desk::new();
    let talk = "conversation = { turns = 3, think_time_s = 1 }\n[classes.prompt]";
    desk.file("talk.toml", &QUICK.replace("[classes.prompt]", talk));
    let talk = ["simulate", "talk.toml", "40", "--rate", "5", "--ttft", "50ms", "--itl", "10ms"];
    let text = stdout(&mut desk.skyline(&talk));
    assert!(text.starts_with("VALID: partly open, "), "{text}");
    insta::assert_snapshot!(section(&text, "Sessions"), @r"
    Sessions, of those that began in the window
      begun     199: 188 completed, 0 broken off by a failure, 11 cut off by the end of the run
      turns     3.00 each as planned, 2.92 sent; 2.51 % not reached
      duration  p50 2.4 s~, p90 2.4 s~, p99 > 2.4 s*, from the first turn's scheduled moment to the last
                token
      an hour   16,920 completed
      time      15.4 % in the server, 84.6 % in tools and pauses, 0 % waiting in the client
      turn  requests  prompt tokens  said before  cached  TTFT p50, ms    p99  e2e p50
      1          199           8.00            0       0          50.0  50.0*      120
      2          194           24.0         7.00       0          50.0  50.0*      120
      3          188           40.0         23.0       0          50.0  50.0*      120
    ");
    let report = json(&mut desk.skyline(&[&talk[..], &["--json"]].concat()));
    assert_eq!(report["summary"]["run"]["load"], "partly_open");
}
