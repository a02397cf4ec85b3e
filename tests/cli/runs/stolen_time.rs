//! Time taken from the measuring process by a stop or by its neighbours: the verdict tells, and does not where none was.
//!
//! Every bound here is loose: what is taken is at least ten times what a bar allows. A machine with other work takes some by
//! itself: where the system counts that it did, a run from which nothing is taken on purpose may say so.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::support::{Desk, control, serve, signal, stream};

/// Threads that want the core of the measuring process for themselves.
const HOGS: usize = 8;
/// For how long the threads of a run may wait for a core that nobody disturbs, milliseconds: for one another.
const WAITED_MS: u64 = 60;

/// A server that answers at once, in the process of the test: what happens to the client does not happen to it.
fn at_once() -> SocketAddr {
    serve(|seen| control(seen).unwrap_or_else(|| stream(8)))
}

/// So many seconds of 40 requests a second.
fn start(desk: &Desk, server: SocketAddr, seconds: &str, options: &[&str]) -> Child {
    let url = format!("http://{server}");
    let typed = ["bench", "quick.toml", seconds, "--rate", "40", "--no-calibration", "--url", &url];
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
    let mut bench = start(&desk, at_once(), "6", &[]);
    desk.await_answers();
    signal(&bench, "-STOP");
    std::thread::sleep(Duration::from_millis(1_200));
    signal(&bench, "-CONT");
    assert_eq!(bench.wait().unwrap().code(), Some(3));

    // 48 of 240 requests were due while it was stopped: p90 and p95 moved by more than half a second.
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

/// Adds what each thread of a process has waited for a core so far, of all or of those of real time.
fn add_waits(process: u32, of_real_time: bool, so_far: &mut BTreeMap<String, u64>) -> Option<()> {
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        let read = |name: &str| std::fs::read_to_string(thread.path().join(name)).ok();
        let stat = read("stat")?;
        // The first field behind the name is the third of all, the policy is the 41st.
        let policy = stat.rsplit_once(')')?.1.split_whitespace().nth(38)?;
        if !of_real_time || policy == "1" {
            let nanos = read("schedstat")?.split(' ').nth(1)?.parse().ok()?;
            so_far.insert(thread.path().display().to_string(), nanos);
        }
    }
    Some(())
}

/// How a run ended, and for how long its threads waited for a core: those of real time, where it has some.
struct OneCore {
    code: Option<i32>,
    waited: Duration,
}

impl OneCore {
    /// Whether others left it alone.
    fn was_undisturbed(&self) -> bool {
        self.waited < Duration::from_millis(WAITED_MS)
    }
}

/// A run in the care of a thread with one core, on which it leaves room or, after the first answers, hardly any.
fn on_one_core(desk: &Desk, neighbours: usize, options: &[&str]) -> OneCore {
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
            start(desk, server, "4", options)
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
        let (begin, mut waits) = (Instant::now(), BTreeMap::new());
        let of_real_time = !options.contains(&"--no-realtime");
        let status = loop {
            // Threads may end meanwhile.
            let _ = add_waits(bench.id(), of_real_time, &mut waits);
            if let Some(status) = bench.try_wait().unwrap() {
                break status;
            }
            stop.fetch_or(begin.elapsed() > Duration::from_secs(2), Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        };
        stop.store(true, Relaxed);
        OneCore { code: status.code(), waited: Duration::from_nanos(waits.values().sum()) }
    })
}

#[test]
fn a_client_without_a_core_to_itself_is_starved() {
    let desk = Desk::new();
    assert_eq!(on_one_core(&desk, HOGS, &["--no-realtime"]).code, Some(3));
    let check = check(&desk, "schedule_lag", "late sending");
    assert_eq!(check["outcome"], "failed", "{check}");
    let [value, bar] = ["value", "critical"].map(|key| check[key].as_f64().unwrap());
    assert!(value > bar && bar == 0.05, "{check}");
    // What the rule stands for: requests were sent that late.
    assert!(sent_late_ms(&desk) > 20.0, "{check}");
}

#[test]
fn a_client_that_runs_first_needs_no_core_to_itself() {
    let desk = Desk::new();
    let run = on_one_core(&desk, HOGS, &[]);
    let priority = desk.lines("header")[0]["host"]["priority"].clone();
    let checks = ["host_stalls", "client_starved", "schedule_lag"].map(|rule| desk.checks(rule)).concat();
    // Containers mostly do not permit it, and other tests run first on the same cores.
    if priority.as_str().is_some_and(|priority| priority.starts_with("fifo")) && run.was_undisturbed() {
        assert!(checks.iter().all(|check| check["outcome"] != "failed"), "{:?} {checks:?}", run.waited);
    }
}

#[test]
fn a_client_that_nobody_disturbs_is_neither_stopped_nor_starved() {
    let desk = Desk::new();
    let run = on_one_core(&desk, 0, &["--no-realtime"]);
    let checks = ["host_stalls", "client_starved"].map(|rule| desk.checks(rule)).concat();
    assert!(checks.len() >= 4, "{checks:?}");
    if run.was_undisturbed() {
        let passed = checks.iter().all(|check| check["outcome"] == "passed");
        assert!(passed && sent_late_ms(&desk) < 30.0, "{:?} {checks:?}", run.waited);
    }
}
