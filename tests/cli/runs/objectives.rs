//! Promises and what is demanded of them, from the command line to the exit code.

use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

/// `victim` is promised what no server keeps, `noisy` is promised nothing.
const SHARED: &str = r#"
name = "shared"
horizon_s = 20
warmup_s = 0
drain_s = 5
arrival = { kind = "poisson", rate_per_s = 10 }
tenants = [{ name = "victim", classes = ["x"] }, { name = "noisy", classes = ["y"], slo = {} },
    { name = "idle", weight = 0 }]
[[classes]]
name = "x"
input_tokens = { kind = "constant", value = 50 }
output_tokens = { kind = "constant", value = 4 }
slo = { ttft_ms = 0.01 }
[[classes]]
name = "y"
input_tokens = { kind = "constant", value = 50 }
output_tokens = { kind = "constant", value = 4 }
slo = { ttft_ms = 0.01 }
[[classes]]
name = "z"
weight = 0
input_tokens = { kind = "constant", value = 50 }
output_tokens = { kind = "constant", value = 4 }
slo = { ttft_ms = 0.01 }
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("shared.toml", SHARED);
    desk
}

#[test]
fn a_neighbour_without_a_promise_hides_no_victim() {
    let missed =
        desk().skyline(&["simulate", "shared.toml", "--json", "--objective", "slo_attainment > 40%"]).assert().code(1);
    let prediction: Value = serde_json::from_slice(&missed.get_output().stdout).unwrap();
    let slo = &prediction["summary"]["slo"];
    assert_eq!((&slo["slo_attainment"], &slo["goodput_per_s"]), (&0.0.into(), &0.0.into()));
    let (scheduled, promised) = (slo["scheduled"].as_u64().unwrap(), slo["with_slo"].as_u64().unwrap());
    assert!(0 < promised && promised < scheduled, "{slo}");
    let report = desk().skyline(&["simulate", "shared.toml"]).assert().success();
    let words: Vec<_> = std::str::from_utf8(&report.get_output().stdout).unwrap().split_whitespace().collect();
    let said = format!(
        "attainment 0 % of {promised} requests with an SLO met it (0); goodput 0 requests/s; {} of {scheduled} have \
         none",
        scheduled - promised
    );
    assert!(words.join(" ").contains(&said), "{words:?}");
}

#[test]
fn what_no_request_is_promised_is_not_listed() {
    let told = desk().skyline(&["simulate", "shared.toml"]).assert().success();
    let text = String::from_utf8(told.get_output().stdout.clone()).unwrap();
    // All that is promised stands in the tables: neither what `idle` would send nor class z is.
    assert!(!text.contains("medium: TTFT"), "{text}");
    assert!(text.contains("x (TTFT ≤ 0.01 ms)") && !text.contains("y (TTFT"), "{text}");
}

#[test]
fn one_tenant_can_gate() {
    let desk = desk();
    let simulate = |objective: &str, more: &[&str]| {
        let mut command = desk.skyline(&["simulate", "shared.toml", "--objective", objective]);
        command.args(more).assert()
    };
    simulate("p50 ttft of victim < 1us", &[]).code(1).stdout(contains("missed: p50 ttft of victim < 1us"));
    simulate("p50 ttft of tenant noisy < 10s", &["--out", "results"]).code(0);
    simulate("mean ttft of victim < 10s", &["--repeats", "2"])
        .code(0)
        .stdout(contains("met: mean ttft of victim < 10s"));
    for (objective, says) in [
        ("p50 ttft of victm < 1s", "no request belongs to `victm`; known: class x, class y, priority medium"),
        ("slo_attainment of noisy > 90%", "no request of `noisy` has an SLO"),
        ("p50 itl of victim < 1s", "`p50 itl` exists only for the whole run"),
    ] {
        simulate(objective, &[]).code(2).stderr(contains(says)).stdout("");
        desk.skyline(&["bench", "shared.toml", "--objective", objective]).assert().code(2).stderr(contains(says));
    }
    let kept = desk.run();
    let kept = kept.to_str().unwrap();
    desk.skyline(&["report", kept]).assert().code(0).stdout(contains("met: p50 ttft of tenant noisy < 10s"));
    desk.skyline(&["report", kept, "--objective", "p50 ttft of z < 1s"])
        .assert()
        .code(2)
        .stderr(contains("no request belongs to `z`"));
}

#[test]
fn arrivals_that_end_too_early_are_refused() {
    let desk = Desk::new();
    desk.file(
        "dies_out.toml",
        r#"
name = "dies_out"
requests = 50
warmup_s = 0
arrival = { kind = "stages", stages = [{ duration_s = 10, from_rate_per_s = 10, to_rate_per_s = 0 }] }
[[classes]]
name = "a"
input_tokens = { kind = "constant", value = 50 }
output_tokens = { kind = "constant", value = 4 }
"#,
    );
    // Fifty are expected in all: about every other plan has fewer.
    for (verb, seed) in [("simulate", "2"), ("bench", "5"), ("simulate", "6")] {
        desk.skyline(&[verb, "dies_out.toml", "--seed", seed])
            .assert()
            .code(2)
            .stderr(contains("requests, and 50 were requested"))
            .stdout("");
    }
    desk.skyline(&["simulate", "dies_out.toml", "--seed", "2", "--requests", "20"]).assert().code(0);
}
