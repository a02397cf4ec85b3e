//! What a run keeps of the machine it was flown from and of the server's own counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

#[cfg(unix)]
use predicates::{prelude::*, str::contains};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::support::signal;
use crate::support::{Desk, answer, control, serve, serve_by_hand, stream};

fn footer(desk: &Desk) -> Value {
    desk.lines("footer").remove(0)
}

#[cfg(unix)]
#[test]
fn a_standstill_is_seen_as_a_pause() {
    let desk = Desk::new();
    let mut bench = desk.start(&["bench", "quick.toml", "4"]);
    desk.await_answers();
    signal(&bench, "-STOP");
    std::thread::sleep(Duration::from_millis(300));
    signal(&bench, "-CONT");
    bench.wait().unwrap();

    let client = &footer(&desk)["client"];
    let pauses = client["host_stalls"].as_array().unwrap();
    // Loosely: the signal may take a while to arrive, and a busy machine adds to what it sees.
    let longest = pauses.iter().map(|pause| pause["length_ns"].as_u64().unwrap()).max().unwrap();
    assert!(longest > 250_000_000, "{client}");
    // So does the loop itself, whose tick was due all that time.
    assert!(client["loop_delay"]["max_ns"].as_u64().unwrap() > 200_000_000, "{client}");
    assert!(client["loop_delay"]["n"].as_u64().unwrap() > 10, "{client}");
    let (cpu, of_loop) = (client["cpu_ns"].as_u64().unwrap(), client["loop_cpu_ns"].as_u64().unwrap());
    assert!(0 < of_loop && of_loop < cpu, "{client}");
    if cfg!(target_os = "linux") {
        assert!(client["peak_memory_bytes"].as_u64().unwrap() > 1 << 20, "{client}");
    }
}

#[test]
fn the_mocks_counters_rise_by_what_was_sent_and_answered() {
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid"]).assert().code(0);
    let server = &footer(&desk)["server"];
    let requests = desk.lines("request");
    let sum = |kind: Option<&str>, field: fn(&Value) -> u64| -> u64 {
        requests.iter().filter(|r| kind.is_none_or(|kind| r["outcome"]["kind"] == kind)).map(field).sum()
    };
    let completed = Some("completed");
    let prompt = |request: &Value| request["usage"]["prompt_tokens"].as_u64().unwrap_or(0);
    let asked = |request: &Value| request["output_tokens_asked"].as_u64().unwrap();
    let risen = |name: &str| server[name].as_u64().unwrap_or_else(|| panic!("no {name} in {server}"));
    // What completed is counted in full; requests cut off after the horizon count in part.
    let cut_off = requests.len() as u64 - sum(completed, |_| 1);
    assert!(sum(completed, |_| 1) >= 39);
    assert!(risen("requests_succeeded") >= sum(completed, |_| 1));
    assert!(risen("requests_succeeded") <= requests.len() as u64);
    let generated = risen("generation_tokens");
    assert!(sum(completed, asked) <= generated && generated <= sum(None, asked), "{server}");
    let prompts = risen("prompt_tokens");
    let most = sum(completed, prompt) + 100 * cut_off;
    assert!(sum(completed, prompt) <= prompts && prompts <= most, "{server}");
}

/// A healthy server whose page of metrics has these counts of answer tokens, look after look.
fn bench_against(counts: &'static [u64]) -> Value {
    let looks = AtomicUsize::new(0);
    let address = serve(move |seen| {
        if seen.path == "/metrics" {
            let look = looks.fetch_add(1, Relaxed).min(counts.len() - 1);
            let page = format!("vllm:generation_tokens_total{{engine=\"0\"}} {}.0\n", counts[look]);
            return answer("200 OK", "text/plain; version=0.0.4", &page);
        }
        control(seen).unwrap_or_else(|| stream(8))
    });
    bench(address)
}

/// What the footer of a short run against the server at `address` says of its counters.
fn bench(address: std::net::SocketAddr) -> Value {
    let desk = Desk::new();
    let url = format!("http://{address}");
    desk.skyline(&[
        "bench",
        "quick.toml",
        "--allow-invalid",
        // What is asked beside the counters is not of interest here.
        "--no-metrics",
        "--requests",
        "5",
        "--engine",
        "vllm",
        "--url",
        &url,
    ])
    .assert()
    .code(0);
    assert!(desk.lines("request").len() >= 5);
    footer(&desk)["server"].clone()
}

#[test]
fn counters_are_read_when_they_have_come_to_rest() {
    // Two looks before the run agree; after it, the third agrees with the second.
    assert_eq!(bench_against(&[100, 100, 180, 220, 220]), json!({ "generation_tokens": 120 }));
}

#[test]
fn counters_of_a_server_that_started_anew_are_left_out() {
    assert_eq!(bench_against(&[100, 100, 40, 40]), Value::Null);
}

#[test]
fn a_server_that_does_not_tell_spoils_nothing() {
    // It has no such page.
    assert_eq!(bench(serve(|seen| control(seen).unwrap_or_else(|| stream(8)))), Value::Null);
    // It keeps the page to itself.
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let silent = serve_by_hand(move |seen, socket| {
        if seen.path == "/metrics" {
            counted.fetch_add(1, Relaxed);
            std::thread::sleep(Duration::from_secs(30));
        }
        let reply = control(seen).unwrap_or_else(|| stream(8));
        let _ = std::io::Write::write_all(socket, reply.as_bytes());
    });
    assert_eq!(bench(silent), Value::Null);
    assert_eq!(looks.load(Relaxed), 1, "it is not asked again");
}

#[cfg(target_os = "linux")]
#[test]
fn stamps_are_the_kernels() {
    let desk = Desk::new();
    desk.skyline(&["bench", "quick.toml", "--allow-invalid"]).assert().code(0);
    assert_eq!(desk.lines("header")[0]["stamps"], "kernel_received");
    let (client, requests) = (&footer(&desk)["client"], desk.lines("request").len() as u64);
    assert!(client["read_delay"]["n"].as_u64().unwrap() > requests, "{client}");
}

/// The binary with so many files at the most, against `server`.
#[cfg(unix)]
fn with_files(desk: &Desk, files: u32, server: std::net::SocketAddr) -> assert_cmd::Command {
    let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    let url = format!("http://{server}");
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", &limited]).arg(assert_cmd::cargo::cargo_bin("skyline"));
    command.current_dir(desk.file("x", "").parent().unwrap());
    command.args(["bench", "quick.toml", "--no-calibration", "--url", &url]);
    command
}

#[cfg(unix)]
#[test]
fn a_limit_that_a_stalled_server_would_reach_is_told_before_the_run() {
    let server = serve(|seen| control(seen).unwrap_or_else(|| stream(8)));
    // 20 requests a second, for 2 s and a drain of 20 s, are 440 at the most.
    let report = "warning: should the server stall, 440 connections at a time need 504 open files, and this process may \
                have 400; raise the limit with `ulimit -n 504`";
    let short = with_files(&Desk::new(), 400, server).arg("--allow-invalid").assert().code(0);
    short.stderr(contains(report));
    let enough = with_files(&Desk::new(), 600, server).arg("--allow-invalid").assert().code(0);
    enough.stderr(contains("warning").not());
}

#[cfg(unix)]
#[test]
fn a_client_out_of_files_makes_the_run_invalid_and_one_with_enough_does_not() {
    // Each answer takes 2 s, so that all 40 requests are there at a time, a file each.
    let server = serve_by_hand(|seen, socket| {
        let reply = control(seen).unwrap_or_else(|| {
            std::thread::sleep(Duration::from_secs(if seen.generation == 0 { 0 } else { 2 }));
            stream(8)
        });
        let _ = std::io::Write::write_all(socket, reply.as_bytes());
    });
    let outcome = |desk: &Desk| desk.checks("client_starved").pop().unwrap();
    let desk = Desk::new();
    let said = contains("found no free file").and(contains("`ulimit -n`"));
    with_files(&desk, 40, server).assert().code(3).stdout(said);
    assert_eq!(outcome(&desk)["outcome"], "failed");
    let desk = Desk::new();
    // Of answers that take as long as the run, a busy machine may say that they pile up.
    let _ = with_files(&desk, 1_000, server).arg("--allow-invalid").assert();
    assert_eq!(outcome(&desk)["outcome"], "passed");
    assert_eq!(desk.summary()["requests"]["completed"], desk.summary()["requests"]["planned"]);
}
