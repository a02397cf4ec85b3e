//! What this machine can measure: asked by itself, asked before a run, and a plan that asks for more.

use predicates::prelude::*;
use predicates::str::{contains, is_match};
use serde_json::Value;

use crate::support::Desk;

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let out = desk.skyline(arguments).assert().code(0);
    serde_json::from_slice(&out.get_output().stdout).unwrap()
}

#[test]
fn a_machine_tells_its_floor() {
    let desk = Desk::new();
    let found = json(&desk, &["calibrate", "--json"]);
    assert_eq!(found["schema"], 1);
    for delay in ["stamp_delay", "pacer_delay"] {
        let delay = &found["calibration"][delay];
        let [n, p50, p99, max] = ["n", "p50_ms", "p99_ms", "max_ms"].map(|key| delay[key].as_f64().unwrap());
        assert!(n > 0.0 && p50 <= p99 && p99 <= max && max > 0.0, "{delay}");
    }
    let rate = |key: &str| found["calibration"][key].as_f64().unwrap();
    assert!(rate("requests_per_s") < rate("paced_events_per_s"), "{found}");
    // A machine with much other work may be fit for nothing, and says so.
    match found["fitness"].as_str().unwrap() {
        "not_fit" => assert_eq!(found["trusted"], Value::Array(Vec::new())),
        _ => assert!(found["trusted"][1]["requests_per_s"].as_f64().unwrap() > 1.0, "{found}"),
    }

    desk.skyline(&["calibrate", "--seconds", "4"])
        .assert()
        .code(0)
        .stdout(contains("stamps late by").and(is_match("^(READY|NOISY|NOT FIT): ").unwrap()))
        .stderr(contains("1 of 3").and(contains("3 of 3")));
    assert!(desk.runs().is_empty());
}

#[test]
fn a_run_keeps_what_its_machine_could_do() {
    let desk = Desk::new();
    let of_run = |options: &[&str]| {
        let typed = ["bench", "quick.toml", "--requests", "3", "--json"];
        let mut run = desk.skyline(&[&typed[..], options].concat());
        // Behind the rest, so that it is calibrated.
        let out = run.arg("--allow-invalid").assert().code(0);
        serde_json::from_slice::<Value>(&out.get_output().stdout).unwrap()["run"]["calibration"].clone()
    };
    // A machine may be so busy that nothing comes back in time: it is not calibrated then.
    let asked = (0..5).map(|_| of_run(&[])).find(|asked| !asked.is_null()).unwrap();
    assert!(asked["stamp_delay"]["n"].as_u64().unwrap() > 0, "{asked}");
    assert!(asked["took_ms"].as_f64().unwrap() > 100.0, "{asked}");
    assert_eq!(of_run(&["--no-calibration"]), Value::Null);
}

#[test]
fn a_run_says_first_how_fit_its_machine_is_and_with_what_priority_it_measures() {
    let of_run = |options: &[&str]| {
        let desk = Desk::new();
        let typed = ["bench", "quick.toml", "--requests", "3"];
        let out = desk.skyline(&[&typed[..], options].concat()).arg("--allow-invalid").assert().code(0);
        let [words, report] = [&out.get_output().stderr, &out.get_output().stdout]
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (words, report, desk.summary()["run"]["host"]["priority"].as_str().unwrap().to_owned())
    };
    let (words, report, given) = of_run(&[]);
    let fitness = is_match("(?m)^machine: (READY|NOISY|NOT FIT) \\(stamps within ").unwrap();
    assert!(fitness.eval(&words) || words.contains("not calibrated"), "{words}");
    assert!(["fifo 5", "nice -20", "normal"].contains(&&*given), "{given}");
    assert!(report.contains(&format!("{given}, of the threads that send and read")), "{report}");
    let (words, _, given) = of_run(&["--no-calibration", "--no-realtime"]);
    assert!(!words.contains("machine: "), "{words}");
    assert_eq!(given, "normal");
}

#[test]
fn a_plan_beyond_the_machine_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    let typed = ["bench", "quick.toml", "0.01", "--rate", "1000000", "--repeats=2", "--drain", "0s"];
    // Only a machine that was calibrated refuses.
    let tries = (0..5).map(|_| desk.skyline(&typed).output().unwrap());
    let refused = tries
        .map(|out| String::from_utf8(out.stderr).unwrap())
        .find(|words| words.contains("too much for this machine"));
    let refused = refused.unwrap();
    for part in [
        "error: this plan is too much for this machine: 1,000,000 requests/s at its peak",
        "answers of 8.00 events",
        "hint: lower the rate: --rate ",
        "  skyline bench --full quick.toml 0.01 --rate 1000000 --drain 0s --shard 1/",
        " --start-at 20",
        "  skyline merge ",
    ] {
        assert!(refused.contains(part), "no `{part}` in {refused}");
    }
}

#[test]
fn a_refused_plan_exits_3_and_leaves_nothing_behind() {
    let desk = Desk::new();
    let typed = ["bench", "quick.toml", "0.01", "--rate", "1000000", "--drain", "0s"];
    let out = desk.skyline(&typed).output().unwrap();
    let calibrated = !String::from_utf8_lossy(&out.stderr).contains("not calibrated");
    assert_eq!(calibrated, desk.runs().is_empty(), "{out:?}");
    assert!(!calibrated || out.status.code() == Some(3), "{out:?}");
}

#[test]
fn a_plan_beyond_the_machine_is_flown_when_that_is_wished() {
    for wish in ["--force", "--no-calibration"] {
        let desk = Desk::new();
        let typed = ["bench", "quick.toml", "0.001", "--rate", "20000", "--drain", "0s", "--allow-invalid", wish];
        // It is run, and no server keeps up with it, where a busy machine sends anything in a millisecond.
        let code = desk.skyline(&typed).output().unwrap().status.code();
        assert!(matches!(code, Some(0 | 1)), "{wish}: {code:?}");
        assert_eq!(desk.runs().len(), 1, "{wish}");
    }
}
