//! Time taken from the measuring process by a stop or by its neighbours: the verdict tells, and does not where none was.
//!
//! Every bound here is loose: what is taken is at least ten times what a bar allows, and a run from which nothing is
//! taken on purpose has five tries, since a machine with other work takes some by itself.

use std::net::SocketAddr;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::support::{Desk, control, serve, signal, stream};

/// Threads that want the core of the measuring process for themselves.
const HOGS: usize = 8;

/// A server that answers at once, in the process of the test: what happens to the client does not happen to it.
fn at_once() -> SocketAddr {
    serve(|seen| control(seen).unwrap_or_else(|| stream(8)))
}

/// Four seconds of 40 requests a second.
fn start(desk: &Desk, server: SocketAddr, options: &[&str]) -> Child {
    let url = format!("http://{server}");
    let typed = ["bench", "quick.toml", "4", "--rate", "40", "--no-calibration", "--url", &url];
    desk.start(&[&typed[..], options].concat())
}

/// What became of the test of `rule` with this statistic.
fn check(desk: &Desk, rule: &str, statistic: &str) -> Value {
    let mut checks = desk.checks(rule).into_iter();
    checks.find(|check| check["statistic"].as_str().unwrap().contains(statistic)).unwrap()
}

/// How late the latest request in a hundred was sent.
fn sent_late_ms(desk: &Desk) -> f64 {
    let requests = desk.lines("request");
    let late = |request: &Value| Some(request["sent_ns"].as_f64()? - request["scheduled_ns"].as_f64()?);
    let mut late: Vec<f64> = requests.iter().filter_map(late).collect();
    late.sort_by(f64::total_cmp);
    late[late.len() * 99 / 100] / 1e6
}

#[test]
fn a_stop_that_moves_percentiles_makes_the_run_invalid() {
    let desk = Desk::new();
    let mut bench = start(&desk, at_once(), &[]);
    desk.await_answers();
    signal(&bench, "-STOP");
    std::thread::sleep(Duration::from_millis(800));
    signal(&bench, "-CONT");
    assert_eq!(bench.wait().unwrap().code(), Some(3));

    // 32 of 160 requests were due while it was stopped: p90 and p95 moved by some hundred milliseconds.
    let check = check(&desk, "host_stalls", "host stalls");
    assert_eq!(check["outcome"], "failed", "{check}");
    let sentence = check["sentence"].as_str().unwrap();
    assert!(sentence.contains("the client stalled") && sentence.contains("p95 ttft"), "{sentence}");
    let summary = desk.summary();
    assert!(summary["host_stalls"]["requests_touched"].as_u64().unwrap() > 16, "{}", summary["host_stalls"]);
    let reasons = summary["verdict"]["reasons"].as_array().unwrap().clone();
    assert!(reasons.iter().any(|reason| reason["rule"] == "host_stalls"), "{reasons:?}");
    let p95 = summary["client_effects"].as_array().unwrap().iter().find(|effect| {
        (&effect["rule"], &effect["metric"], &effect["quantile"])
            == (&"host_stalls".into(), &"ttft".into(), &"p95".into())
    });
    let [reported, without] = ["reported_ms", "without_ms"].map(|key| p95.unwrap()[key].as_f64().unwrap());
    assert!(reported > 100.0 && without < reported / 2.0, "{reported} ms, without the stop {without} ms");
}

/// A run in the care of a thread with one core, on which it leaves room or, after the first answers, hardly any.
fn on_one_core(desk: &Desk, neighbours: usize, options: &[&str]) -> Option<i32> {
    let server = at_once();
    let allowed = sched_getaffinity(None).unwrap();
    let core = (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core)).unwrap();
    let mut one = CpuSet::new();
    one.set(core);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // What a thread starts has its core and its priority.
        let bench = scope.spawn(move || {
            sched_setaffinity(None, &one).unwrap();
            if neighbours > 0 {
                setpriority_process(Some(gettid()), 19).unwrap();
            }
            start(desk, server, options)
        });
        let mut bench = bench.join().unwrap();
        desk.await_answers();
        for _ in 0..neighbours {
            scope.spawn(|| {
                sched_setaffinity(None, &one).unwrap();
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        stop.store(true, Relaxed);
        bench.wait().unwrap().code()
    })
}

#[test]
fn a_client_without_a_core_to_itself_is_starved() {
    let desk = Desk::new();
    assert_eq!(on_one_core(&desk, HOGS, &["--no-realtime"]), Some(3));
    let check = check(&desk, "schedule_lag", "late sending");
    assert_eq!(check["outcome"], "failed", "{check}");
    let [value, bar] = ["value", "critical"].map(|key| check[key].as_f64().unwrap());
    assert!(value > bar && bar == 0.05, "{check}");
    // What the rule stands for: requests were sent that late.
    assert!(sent_late_ms(&desk) > 20.0, "{check}");
}

#[test]
fn a_client_that_runs_first_needs_no_core_to_itself() {
    // Other tests run first on the same cores: one run of five may be undisturbed.
    let first = (0..5).any(|_| {
        let desk = Desk::new();
        on_one_core(&desk, HOGS, &[]);
        let priority = desk.lines("header")[0]["host"]["priority"].clone();
        let checks = ["host_stalls", "client_starved", "schedule_lag"].map(|rule| desk.checks(rule)).concat();
        // Containers mostly do not permit it.
        !priority.as_str().is_some_and(|priority| priority.starts_with("fifo"))
            || checks.iter().all(|check| check["outcome"] != "failed")
    });
    assert!(first);
}

#[test]
fn a_client_that_nobody_disturbs_is_neither_stopped_nor_starved() {
    let undisturbed = (0..5).any(|_| {
        let desk = Desk::new();
        on_one_core(&desk, 0, &["--no-realtime"]);
        let checks = ["host_stalls", "client_starved"].map(|rule| desk.checks(rule)).concat();
        assert!(checks.len() >= 4, "{checks:?}");
        checks.iter().all(|check| check["outcome"] == "passed") && sent_late_ms(&desk) < 20.0
    });
    assert!(undisturbed);
}
