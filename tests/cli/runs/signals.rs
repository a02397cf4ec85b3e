//! Signals that ask a run to stop: the first drains, a second Ctrl-C or SIGTERM ends at once, and the run is stored either way.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Desk, control, serve_by_hand, signal, stream};

/// How long a process that was asked to stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// The signal of a lost terminal, or another where the tests themselves run under `nohup`.
fn hang_up() -> &'static str {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    if u64::from_str_radix(ignored, 16).unwrap() & 1 == 1 { "-TERM" } else { "-HUP" }
}

fn code(mut process: Child) -> Option<i32> {
    let begin = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status.code();
        }
        assert!(begin.elapsed() < PATIENCE, "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sigterm_and_sighup_drain_as_ctrl_c_does() {
    for name in ["-TERM", hang_up()] {
        let desk = Desk::new();
        let bench = desk.start(&["bench", "quick.toml", "60", "--no-calibration"]);
        desk.await_answers();
        signal(&bench, name);
        assert_eq!(code(bench), Some(130), "{name}");
        let summary = desk.summary();
        assert_eq!(summary["window"]["ending"], "interrupted", "{name}");
        assert_eq!(summary["requests"]["censored"], 0, "{name}: answers in flight are awaited");
    }
}

#[test]
fn a_second_sigterm_ends_the_run_at_once_and_it_is_stored() {
    let desk = Desk::new();
    let address = serve_by_hand(|seen, socket| match control(seen) {
        Some(said) => drop(socket.write_all(said.as_bytes())),
        None if seen.generation < 12 => drop(socket.write_all(stream(8).as_bytes())),
        None => std::thread::sleep(Duration::from_secs(60)),
    });
    let url = format!("http://{address}");
    // Of a minute, so that the drain limit is not what ends it.
    let bench =
        desk.start(&["bench", "quick.toml", "60", "--url", &url, "--no-calibration", "--drain", "1m"]);
    desk.await_answers();
    std::thread::sleep(Duration::from_secs(1));
    signal(&bench, hang_up());
    std::thread::sleep(Duration::from_millis(1_500));
    signal(&bench, "-TERM");
    assert_eq!(code(bench), Some(130));
    let summary = desk.summary();
    assert_eq!(summary["window"]["ending"], "interrupted");
    assert!(summary["requests"]["censored"].as_u64().unwrap() > 0, "{}", summary["requests"]);
}

#[test]
fn a_lost_terminal_that_signals_twice_still_drains() {
    let desk = Desk::new();
    let bench = desk.start(&["bench", "quick.toml", "60", "--no-calibration"]);
    desk.await_answers();
    signal(&bench, hang_up());
    std::thread::sleep(Duration::from_millis(5));
    signal(&bench, hang_up());
    assert_eq!(code(bench), Some(130));
    let summary = desk.summary();
    assert_eq!(summary["window"]["ending"], "interrupted");
    assert_eq!(summary["requests"]["censored"], 0, "answers in flight are awaited");
}

#[test]
fn a_signal_before_the_run_ends_the_program() {
    let desk = Desk::new();
    let mut bench = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    bench.current_dir(desk.path());
    bench.args(["bench", "quick.toml", "--url", "http://127.0.0.1:9", "--no-calibration", "--wait", "1m"]);
    let mut bench = bench.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(bench.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("waiting for")), "it never waits");
    signal(&bench, "-TERM");
    assert_eq!(code(bench), Some(130));
    assert!(desk.runs().iter().all(|run| !run.join("run.jsonl").exists()));
}

#[test]
fn under_nohup_a_lost_terminal_ends_nothing() {
    let desk = Desk::new();
    let mut nohup = Command::new("nohup");
    nohup.current_dir(desk.path()).arg(assert_cmd::cargo::cargo_bin("skyline"));
    nohup.args(["bench", "quick.toml", "20", "--no-calibration"]);
    let mut bench = nohup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    desk.await_answers();
    signal(&bench, "-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(bench.try_wait().unwrap().is_none(), "it ended");
    signal(&bench, "-TERM");
    assert_eq!(code(bench), Some(130));
}

#[test]
fn a_process_that_was_stopped_says_so() {
    let desk = Desk::new();
    let bench = desk.start(&["bench", "quick.toml", "8", "--no-calibration"]);
    desk.await_answers();
    signal(&bench, "-STOP");
    std::thread::sleep(Duration::from_millis(2_500));
    signal(&bench, "-CONT");
    assert_eq!(code(bench), Some(3));
    let summary = desk.summary();
    let first = summary["verdict"]["reasons"][0]["sentence"].as_str().unwrap();
    assert!(first.starts_with("the process was stopped for ") && first.contains("SIGSTOP"), "{first}");
}
