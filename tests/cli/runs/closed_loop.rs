//! Closed loops and conversations as a person meets them: what the report says, what is kept, what is refused.

use std::path::Path;

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;

use crate::quick::QUICK;
use crate::support::{Desk, signal};

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
    let simulated =
        json(&mut desk.skyline(&[&["simulate", "--json", "--users", "16"], &PEERS[..], &PLAIN].concat()));
    assert_eq!(simulated["summary"]["requests"]["completed"], 100, "{simulated}");
    assert_eq!(simulated["summary"]["window"]["cut_short"], false);
    // In a closed loop a client that sends late raises no latency, but a busy machine lowers the load.
    let flags = ["bench", "--json", "--rate", "max", "--max-concurrency", "16", "--no-calibration"];
    let mut bench = desk.skyline(&[&flags[..], &["--allow-invalid"], &PEERS].concat());
    let output = bench.assert().code(0).stderr(contains("a closed loop of 16 users"));
    let bench: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(bench["requests"]["completed"], 100, "{bench}");
    assert_eq!(
        (&bench["run"]["workload"], &bench["window"]["cut_short"]),
        (&"synthetic".into(), &false.into())
    );
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
fn simulate_says_what_a_closed_loop_hides_and_report_says_it_again() {
    let desk = Desk::new();
    // Two users before one place of 50 ms, who think for 50 ms: it is always taken, and 20 a second are done.
    let loop_of_two =
        ["simulate", "quick.toml", "20", "--users", "2", "--think-time", "50ms", "--warmup", "2s"];
    let arguments = [&loop_of_two[..], &PLAIN, &["--out", "results"]].concat();
    let text = stdout(&mut desk.skyline(&arguments));
    assert!(text.starts_with("VALID: closed loop, "), "{text}");
    insta::assert_snapshot!(section(&text, "Closed loop"), @r"
    Closed loop
      reached  2 users: 20.0 requests/s, each 50.0 ms long on average, and 50.0 ms of think time after
               it
    ");
    let hidden = section(&text, "What the closed loop hides");
    insta::assert_snapshot!(hidden, @r"
    What the closed loop hides: 20.0 requests/s from its users, and from open arrivals at that rate, ms
                closed  open  open ÷ closed
      TTFT p50    50.0   337           6.73
      TTFT p99   50.0*  645*          12.9*
      e2e p50     50.0   337           6.73
      e2e p99    50.0*  645*          12.9*
      p99 TTFT is 50.0 ms in the closed loop, and 645 ms with open arrivals at the same 20.0 requests/s:
      12.9 times as long
    ");
    assert!(!text.contains("requests offered"), "{text}");

    let run = desk.run();
    let again = stdout(&mut desk.skyline(&["report", run.to_str().unwrap()]));
    assert_eq!(section(&again, "What the closed loop hides"), hidden);
    assert_eq!(section(&again, "Closed loop"), section(&text, "Closed loop"));
    let log = run.join("run.jsonl");
    let again = json(&mut desk.skyline(&["report", log.to_str().unwrap(), "--json"]));
    let predicted = json(&mut desk.skyline(&[&arguments[..arguments.len() - 2], &["--json"]].concat()));
    assert_eq!(again["paired_open"], predicted["paired_open"]);
    assert_eq!(again["paired_open"]["ttft"]["p50"]["closed"]["value_ms"], 50.0);
    assert_eq!(again["run"]["load"], "closed");
    assert_eq!(again["rates"]["offered_requests_per_s"], Value::Null);
    let law = again["verdict"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["rule"] == "interactive_law");
    assert_eq!(law.unwrap()["outcome"], "passed");
}

#[test]
fn an_open_run_that_was_broken_off_is_not_compared() {
    let desk = Desk::new();
    let typed = [&["simulate", "quick.toml", "5", "--users", "2", "--out", "results"][..], &PLAIN].concat();
    assert!(stdout(&mut desk.skyline(&typed)).contains("What the closed loop hides"));
    let run = desk.run();
    let log = run.join("open/run.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let without_footer = text.trim_end().rsplit_once('\n').unwrap().0;
    for broken in [Some(without_footer), Some("{\"half"), None] {
        match broken {
            Some(text) => std::fs::write(&log, text).unwrap(),
            None => std::fs::remove_file(&log).unwrap(),
        }
        let again = stdout(&mut desk.skyline(&["report", run.to_str().unwrap()]));
        assert!(again.starts_with("VALID") && !again.contains("What the closed loop hides"), "{again}");
    }
}

#[test]
fn bench_flies_the_open_run_after_the_closed_one() {
    let desk = Desk::new();
    let closed =
        ["bench", "quick.toml", "--users", "3", "--think-time", "100ms", "--allow-invalid", "--quiet"];
    let report = json(&mut desk.skyline(&[&closed[..], &["--paired-open", "--json"]].concat()));
    let pair = &report["paired_open"];
    assert!(pair["rate_per_s"].as_f64().unwrap() > 1.0, "{pair}");
    for metric in ["ttft", "e2e"] {
        assert!(pair[metric]["p50"]["open"]["value_ms"].as_f64().unwrap() > 0.0, "{pair}");
    }
    let (run, open) = (desk.run(), desk.run().join("open"));
    assert_eq!(arrival(&run), "users");
    assert_eq!(arrival(&open), "poisson");
    let again = json(&mut desk.skyline(&["report", run.to_str().unwrap(), "--json", "--allow-invalid"]));
    assert_eq!(&again["paired_open"], pair);
    // The stored summary is what was printed.
    assert_eq!(&desk.summary()["paired_open"], pair);
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("Closed and open"), "the page knows of the pair");
    // The open run is one like any other.
    desk.skyline(&["report", open.to_str().unwrap(), "--allow-invalid"])
        .assert()
        .code(0)
        .stdout(contains("poisson"));
}

/// How many spare runs of this noun a pair says that it has.
fn replaced(said: &str, noun: &str) -> usize {
    (2..=3).filter(|number| said.contains(&format!("{noun} run {number} replaces it"))).count()
}

#[cfg(unix)]
#[test]
fn a_spoiled_run_of_a_pair_is_replaced() {
    let desk = Desk::new();
    let mut bench = std::process::Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    bench.current_dir(desk.path()).args(["bench", "quick.toml", "--users", "2", "--paired-open"]);
    // Whatever this machine spoils besides, the open run follows.
    bench.args(["--think-time", "50ms", "--force"]).stdout(std::process::Stdio::null());
    let bench = bench.stderr(std::process::Stdio::piped()).spawn().unwrap();
    desk.await_answers();
    signal(&bench, "-STOP");
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal(&bench, "-CONT");
    let output = bench.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("closed run 1 was spoiled (") && said.contains("closed run 2 replaces it"),
        "{said}"
    );
    assert_eq!(desk.runs().len(), 1 + replaced(&said, "closed"), "{said}");
    // The spare run sends other prompts at other moments, and is what is paired.
    let mut runs = desk.runs();
    runs.sort_by_key(|run| std::fs::metadata(run).unwrap().created().unwrap());
    assert!(!runs[0].join("open").exists());
    let spare = runs.last().unwrap();
    let report = json(&mut desk.skyline(&["report", spare.to_str().unwrap(), "--json", "--allow-invalid"]));
    assert!(report["paired_open"]["rate_per_s"].as_f64().unwrap() > 1.0, "{report}");
    assert_ne!(report["run"]["seed"], 1);
    let last = if replaced(&said, "open") == 0 {
        "open".into()
    } else {
        format!("open-{}", 1 + replaced(&said, "open"))
    };
    assert_eq!(arrival(&spare.join(last)), "poisson");
}

fn arrival(run: &Path) -> String {
    let summary = std::fs::read_to_string(run.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    summary["run"]["arrival"]["kind"].as_str().unwrap().to_owned()
}

#[test]
fn bench_alone_says_how_to_see_what_is_hidden() {
    let desk = Desk::new();
    let text =
        stdout(&mut desk.skyline(&["bench", "quick.toml", "--users", "2", "--allow-invalid", "--quiet"]));
    let words = section(&text, "Closed loop").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--paired-open") && words.contains("skyline simulate --users"), "{words}");
}

#[test]
fn an_open_run_is_paired_with_one_closed_loop() {
    let desk = Desk::new();
    let refused = |more: &[&str]| {
        let arguments =
            [&["bench", "quick.toml", "--paired-open", "--url", "http://127.0.0.1:9"], more].concat();
        desk.skyline(&arguments).assert().code(2)
    };
    refused(&[]).stderr(contains("--users"));
    refused(&["--users", "2", "--repeats", "2"]).stderr(contains("--repeats"));
    refused(&["--users", "2", "--shard", "1/2"]).stderr(contains("--shard"));
    assert!(desk.runs().is_empty());
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
      duration  p50 2.4 s, p90 2.4 s, p99 > 2.4 s*, from the first turn's scheduled moment to the last
                token
      turn  requests  prompt tokens  cached  TTFT p50, ms    p99  e2e p50
      1          199           8.00       0          50.0  50.0*      120
      2          194           24.0       0          50.0  50.0*      120
      3          188           40.0       0          50.0  50.0*      120
    ");
    let report = json(&mut desk.skyline(&[&talk[..], &["--json"]].concat()));
    assert_eq!(report["paired_open"], Value::Null);
    assert_eq!(report["summary"]["run"]["load"], "partly_open");
}
