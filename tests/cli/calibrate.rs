//! What this machine can measure: asked by itself, asked before a run, and a plan that asks for more.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).assert().code(0);
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}

#[test]
fn a_machine_tells_its_floor() {
    let desk = Desk::new();
    let found = json(&desk, &["calibrate", "--seconds", "1", "--json"]);
    assert_eq!(found["schema"], 1);
    for delay in ["stamp_delay", "pacer_delay"] {
        let delay = &found["calibration"][delay];
        let [n, p50, p99, max] = ["n", "p50_ms", "p99_ms", "max_ms"].map(|key| delay[key].as_f64().unwrap());
        assert!(n >= 100.0 && p50 > 0.0 && p50 <= p99 && p99 <= max, "{delay}");
    }
    let rate = |key: &str| found["calibration"][key].as_f64().unwrap();
    assert!(rate("requests_per_s") < rate("paced_events_per_s"), "{found}");
    assert!(rate("paced_events_per_s") < rate("coalesced_events_per_s"), "{found}");
    assert!(found["trusted"][1]["requests_per_s"].as_f64().unwrap() > 1.0, "{found}");

    desk.skyline(&["calibrate", "--seconds", "1"])
        .assert()
        .code(0)
        .stdout(contains("stamps late by").and(contains("requests/s of 100 tokens")))
        .stderr(contains("1 of 3").and(contains("3 of 3")));
    assert!(desk.runs().is_empty());
}

#[test]
fn a_run_keeps_what_its_machine_could_do() {
    let desk = Desk::new();
    let of_run = |options: &[&str]| {
        let summary = json(&desk, &[&["bench", "quick.toml", "--requests", "3", "--json"], options].concat());
        summary["run"]["calibration"].clone()
    };
    let asked = of_run(&[]);
    assert!(asked["stamp_delay"]["n"].as_u64().unwrap() > 100, "{asked}");
    // About half a second of measuring; loosely, as others may be busy here too.
    assert!((400.0..5_000.0).contains(&asked["took_ms"].as_f64().unwrap()), "{asked}");
    assert_eq!(of_run(&["--no-calibration"]), Value::Null);
}

#[test]
fn a_plan_beyond_the_machine_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    let typed = ["bench", "quick.toml", "0.1", "--rate", "1000000"];
    let refused = desk.skyline(&typed).assert().code(3).stdout("").stderr(
        contains("1,000,000 requests/s")
            .and(contains("answers of 8 events"))
            .and(contains("lower the rate: --rate "))
            .and(contains("  skyline bench quick.toml 0.1 --rate 1000000 --shard 1/"))
            .and(contains("--start-at 20"))
            .and(contains("--force")),
    );
    assert!(desk.runs().is_empty(), "nothing was flown");

    // The rate that is named is accepted by the machine that named it. Half of it, as other work here comes and goes.
    let words = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    let rate = words.split("--rate ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let rate = rate.parse::<f64>().unwrap() / 2.0;
    assert!(rate > 1.0, "{words}");
    let (rate, workload) =
        (rate.to_string(), ["bench", "quick.toml", "0.1", "--drain", "0s", "--allow-invalid"]);
    desk.skyline(&[&workload[..], &["--rate", &rate]].concat()).assert().code(0);
}

#[test]
fn a_plan_beyond_the_machine_is_flown_when_that_is_wished() {
    for wish in ["--force", "--no-calibration"] {
        let desk = Desk::new();
        let typed =
            ["bench", "quick.toml", "0.001", "--rate", "100000", "--drain", "0s", "--allow-invalid", wish];
        desk.skyline(&typed).assert().code(0);
        assert_eq!(desk.runs().len(), 1, "{wish}");
    }
}
