//! Limits of simulated clients and servers, and what an overload leaves behind.

use predicates::str::contains;
use serde_json::Value;

use super::json;
use crate::support::Desk;

/// Lines printed of a run whatever its verdict.
fn judged(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {error}"))
}

#[test]
fn a_cap_of_the_client_makes_requests_wait() {
    let desk = Desk::new();
    let plain = ["simulate", "quick.toml", "--json", "--ttft", "200ms", "--itl", "1ms", "--rate", "20"];
    let all = judged(&desk, &[&plain[..], &["--max-concurrency", "2", "--allow-invalid"]].concat());
    assert_eq!(all["summary"]["run"]["limits"]["max_concurrency"], 2);
    assert!(all["summary"]["latency"]["queue_wait"]["p50"]["value_ms"].as_f64().unwrap() > 100.0);
    let of_class = judged(&desk, &[&plain[..], &["--max-concurrency", "tiny=2", "--allow-invalid"]].concat());
    assert_eq!(of_class["summary"]["run"]["limits"]["class_concurrency"]["tiny"], 2);
    assert_eq!(of_class["summary"]["latency"]["queue_wait"], all["summary"]["latency"]["queue_wait"]);
    let unknown = [&plain[..], &["--max-concurrency", "tinny=2"]].concat();
    desk.skyline(&unknown).assert().code(2).stderr(contains("--max-concurrency: `quick` has no class `tinny`"));
    let free = json(&desk, &plain);
    assert_eq!(free["summary"]["run"]["limits"]["max_concurrency"], Value::Null);
    assert_eq!(free["summary"]["latency"]["ttft"]["p50"]["value_ms"], 200.0);
    let users = judged(&desk, &[&plain[..7], &["--rate", "max", "--max-concurrency", "2", "--allow-invalid"]].concat());
    assert_eq!(users["summary"]["run"]["arrival"]["users"], 2);
}

#[test]
fn a_simulated_server_refuses_what_exceeds_its_limits() {
    let desk = Desk::new();
    let plain = ["simulate", "quick.toml", "--ttft", "900ms", "--itl", "1ms", "--rate", "20"];
    let refused = |more: &[&str]| {
        let all = judged(&desk, &[&plain[..], &["--json", "--allow-invalid"], more].concat());
        let kinds = all["summary"]["failures"]["kinds"].as_array().unwrap().clone();
        (kinds, all["summary"]["run"]["engine"]["modelled"].clone())
    };
    let (kinds, modelled) = refused(&["--admit", "3", "--retry-after", "2s"]);
    assert_eq!(kinds[0]["kind"], "http 429", "{kinds:?}");
    assert_eq!((&modelled["admit"], &modelled["retry_after_s"]), (&"3".into(), &2.into()));
    assert_eq!(refused(&[]).0.len(), 0);
    for (wrong, said) in [
        (&["--admit", "chatt=3"][..], "has no class of this name"),
        (&["--admit", "0"], "write 64 or batch=20"),
        (&["--retry-after", "2s"], "--admit"),
        (&["--admit", "9", "--retry-after", "1500ms"], "whole seconds"),
    ] {
        desk.skyline(&[&plain[..], wrong].concat()).assert().code(2).stderr(contains(said));
    }
    desk.skyline(&["mock", "--port", "0", "--admit", "chat=3"]).assert().code(2).stderr(contains("over HTTP"));
}

/// The first example of the guide's chapter on overload.
const METASTABLE: &[&str] = &[
    "simulate",
    "200",
    "--rate",
    "7",
    "--spike",
    "2:40s:20s",
    "--input-tokens",
    "10",
    "--output-tokens",
    "1",
    "--ttft",
    "exponential:100ms",
    "--itl",
    "0ms",
    "--slots",
    "1",
    "--timeout",
    "2s",
    "--allow-invalid",
    "--ignore-disconnects",
];

#[test]
fn a_report_says_whether_goodput_came_back_after_a_spike() {
    let desk = Desk::new();
    let naive = ["--retries", "3", "--retry-on", "timeout", "--backoff", "100ms", "--jitter", "none"];
    let shown = desk.skyline(&[METASTABLE, &naive[..]].concat()).assert();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    for part in ["NOT RECOVERED", "last quarter", "goodput is not back", "█"] {
        assert!(shown.contains(part), "no {part} in\n{shown}");
    }
    let off = judged(&desk, &[METASTABLE, &["--retries", "0", "--json"]].concat());
    assert_eq!(off["summary"]["aftermath"]["recovered"], true);
    assert!(off["summary"]["aftermath"]["recovery_s"].as_f64().unwrap() > 5.0);
}

#[test]
fn a_sweep_shows_at_which_loads_goodput_comes_back() {
    let desk = Desk::new();
    let mut words = METASTABLE.to_vec();
    words.drain(2..4);
    let naive = ["--retries", "3", "--retry-on", "timeout", "--backoff", "100ms", "--jitter", "none"];
    let swept = [&words[..], &naive, &["--sweep", "--rates", "2,7", "--samples", "1000", "--json"]].concat();
    let swept = judged(&desk, &swept);
    let recovered = |place: usize| swept["points"][place]["trials"][0]["recovered"].clone();
    assert_eq!((recovered(0), recovered(1)), (true.into(), false.into()), "{swept}");
}
