//! Signals that ask a run to stop: the first drains, a second Ctrl-C or SIGTERM ends at once, and the run is stored either way.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::{Desk, PATIENCE, control, serve, serve_by_hand, signal, stream};
use crate::terminal::Terminal;

/// The signal of a lost terminal, or another where the tests themselves run under `nohup`.
fn hang_up() -> &'static str {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    if u64::from_str_radix(ignored, 16).unwrap() & 1 == 1 { "-TERM" } else { "-HUP" }
}

pub(super) fn code(mut process: Child) -> Option<i32> {
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
    let (desk, (url, seen)) = (Desk::new(), answering(12));
    let mut bench = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    bench.current_dir(desk.path());
    // Of many minutes, so that the drain limit is not what ends it.
    bench.args(["bench", "quick.toml", "60", "--url", &url, "--no-calibration", "--drain", "10m"]);
    let mut bench = bench.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(bench.stderr.take().unwrap()).lines();
    await_asked(&seen, 12);
    signal(&bench, hang_up());
    // A signal that is heard within a second of a lost terminal belongs to that.
    assert!(said.any(|line| line.unwrap().contains("stopping: no more requests")), "it goes on");
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
    let last = said.last().unwrap().unwrap();
    assert_eq!(last, "stopped before the run began: none of its requests was sent, and there is no result");
    assert_eq!(code(bench), Some(130));
    assert!(desk.runs().iter().all(|run| !run.join("run.jsonl").exists()));
}

#[test]
fn under_nohup_a_lost_terminal_ends_nothing() {
    let desk = Desk::new();
    let mut nohup = Command::new("nohup");
    nohup.current_dir(desk.path()).arg(assert_cmd::cargo::cargo_bin("skyline"));
    nohup.args(["bench", "quick.toml", "60", "--no-calibration"]);
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

/// Waits until the process listens to SIGTERM: it reads what was typed then, or calibrates this machine.
fn await_listening(process: &Child) {
    let begin = Instant::now();
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim();
        u64::from_str_radix(caught, 16).unwrap() >> 14 & 1 == 1
    };
    while !listens() {
        assert!(begin.elapsed() < PATIENCE, "it never listens");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn sigterm_while_this_machine_is_calibrated_ends_every_verb_before_anything_is_sent() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let address = serve(move |seen| {
        counter.fetch_add(1, Relaxed);
        control(seen).unwrap_or_else(|| stream(8))
    });
    let url = format!("http://{address}");
    let desk = Desk::new();
    desk.file("t.toml", "name = \"t\"\n[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\n");
    for typed in [
        &["bench", "quick.toml", "60", "--url", &url][..],
        &["sweep", "quick.toml", "--url", &url],
        &["ab", "quick.toml", "--a", &url, "--b", &url],
        &["matrix", "t.toml", "--url", &url],
    ] {
        let process = desk.start(typed);
        await_listening(&process);
        signal(&process, "-TERM");
        assert_eq!(code(process), Some(130), "{typed:?}");
    }
    assert_eq!(asked.load(Relaxed), 0);
}

/// Waits until a server has seen more than so many requests after the test request.
fn await_asked(seen: &AtomicUsize, few: usize) {
    let begin = Instant::now();
    while seen.load(Relaxed) <= few {
        assert!(begin.elapsed() < PATIENCE, "{few} requests never come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server that answers the test request, and of the requests after it so many.
fn answering(few: usize) -> (String, Arc<AtomicUsize>) {
    let seen_so_far = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen_so_far);
    let address = serve_by_hand(move |seen, socket| {
        let said = control(seen).unwrap_or_else(|| {
            counter.store(seen.generation, Relaxed);
            if seen.generation > few {
                std::thread::sleep(2 * PATIENCE);
            }
            stream(8)
        });
        drop(socket.write_all(said.as_bytes()));
    });
    (format!("http://{address}"), seen_so_far)
}

#[test]
fn sigterm_while_a_server_is_warmed_ends_every_verb_that_warms() {
    for typed in [
        &["bench", "quick.toml", "--warmup-requests", "9", "--url"][..],
        &["bench", "quick.toml", "--repeats", "2", "--warmup-requests", "9", "--url"],
        &["sweep", "quick.toml", "--rates", "20", "--url"],
        &["sweep", "quick.toml", "--url"],
        &["ab", "quick.toml", "--b", "http://127.0.0.1:9", "--a"],
    ] {
        let (desk, (url, seen)) = (Desk::new(), answering(2));
        let process = desk.start(&[typed, &[&url, "--no-calibration"]].concat());
        await_asked(&seen, 2);
        signal(&process, "-TERM");
        assert_eq!(code(process), Some(130), "{typed:?}");
        let logs = desk.runs().iter().filter(|folder| folder.join("run.jsonl").exists()).count();
        assert_eq!(logs, 0, "{typed:?}");
    }
}

#[test]
fn sigterm_between_two_runs_keeps_the_first_and_the_experiment_goes_on() {
    let url = format!("http://{}", serve(|seen| control(seen).unwrap_or_else(|| stream(8))));
    let experiment = ["--no-calibration", "--allow-invalid", "--pause"];
    let sweep = ["sweep", "quick.toml", "--rates", "20,30", "--repeats", "1", "--max-seconds", "1s"];
    let ab = ["ab", "quick.toml", "0.5", "--rounds", "7", "--metric", "p50 ttft", "--warmup-requests", "0"];
    for (verb, servers, first, next) in [
        (&sweep[..], &["--url", &url][..], "run-001", "run-002"),
        (&ab, &["--a", &url, "--b", &url, "--seed", "1"], "round-1/", "round-2"),
    ] {
        let desk = Desk::new();
        let typed = [verb, servers, &experiment].concat();
        let process = desk.start(&[&typed[..], &["60s"]].concat());
        let begin = Instant::now();
        let is_over = |name: &str| {
            ["", "a", "b"]
                .iter()
                .any(|side| desk.runs().iter().any(|folder| folder.join(name).join(side).join("summary.json").exists()))
        };
        while !is_over(first) {
            assert!(begin.elapsed() < PATIENCE, "no run ends");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        signal(&process, "-TERM");
        assert_eq!(code(process), Some(130), "{verb:?}");
        let folder = desk.run();
        assert!(is_over(first) && !folder.join(next).exists(), "{verb:?}");
        // It goes on from there.
        let resume = [&typed[..], &["60s", "--resume", folder.to_str().unwrap(), "--dry-run"]].concat();
        desk.skyline(&resume).assert().code(0);
        if verb[0] == "sweep" {
            let stored = std::fs::read_to_string(folder.join("sweep.json")).unwrap();
            assert!(stored.contains("interrupted"), "{stored}");
        }
    }
}

/// A run of two seconds whose terminal is lost in the middle, without a signal.
#[test]
fn a_lost_terminal_costs_nothing_but_what_it_would_have_shown() {
    each_at_once(["dumb", "xterm"], |kind| {
        let (desk, terminal) = (Desk::new(), Terminal::new());
        let bench = terminal.start(kind, &desk, &["bench", "quick.toml", "--no-calibration", "--allow-invalid"]);
        desk.await_answers();
        drop(terminal);
        assert_eq!(code(bench), Some(0), "{kind}");
        let requests = &desk.summary()["requests"];
        assert_eq!(requests["completed"], requests["planned"], "{kind}: {requests}");
    });
}

/// Does it for all at the same time.
fn each_at_once<'a>(all: impl IntoIterator<Item = &'a str>, act: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for one in all {
            let act = &act;
            scope.spawn(move || act(one));
        }
    });
}

#[test]
fn closed_streams_and_pipes_without_a_reader_lose_nothing() {
    each_at_once([">&- 2>&-", "<&- >&- 2>&-", "2>&1 | true", "2>&1 >&- | true"], |redirected| {
        let desk = Desk::new();
        let binary = assert_cmd::cargo::cargo_bin("skyline");
        let line = format!(
            "('{}' bench quick.toml 1 --no-calibration --allow-invalid; echo $? > code) {redirected}",
            binary.display()
        );
        Command::new("sh").current_dir(desk.path()).args(["-c", &line]).status().unwrap();
        let begin = Instant::now();
        let code = || std::fs::read_to_string(desk.path().join("code")).unwrap_or_default();
        while code().is_empty() {
            assert!(begin.elapsed() < PATIENCE, "{redirected}: it goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(code().trim(), "0", "{redirected}");
        let requests = &desk.summary()["requests"];
        assert_eq!(requests["completed"], requests["planned"], "{redirected}: {requests}");
    });
}
