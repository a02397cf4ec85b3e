//! `skyline simulate --sweep` and `skyline capacity`: from virtual runs to instances and money.

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

const SWEEP: [&str; 15] = [
    "simulate",
    "quick.toml",
    "--sweep",
    "--rates",
    "20,40,80,800",
    "--samples",
    "200",
    "--ttft",
    "40ms",
    "--itl",
    "5ms",
    "--places",
    "4",
    "--objective",
    "p95 ttft < 200ms",
];

#[test]
fn a_sweep_in_virtual_time_is_kept_and_turned_into_instances() {
    let desk = Desk::new();
    let out = desk.skyline(&SWEEP).args(["--repeats", "2", "--out", "results", "--json"]).assert().code(0);
    let printed: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let classes: Vec<_> = printed["points"].as_array().unwrap().iter().map(|point| point["class"].clone()).collect();
    assert_eq!(classes.first().unwrap(), "passed", "{classes:?}");
    assert_eq!(classes.last().unwrap(), "saturated", "{classes:?}");
    let folder = desk.runs().remove(0);
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("sweep.json")).unwrap()).unwrap();
    assert_eq!(kept, printed);
    assert!(folder.join("run-001/run.jsonl").exists());

    let folder = folder.to_str().unwrap();
    let needs = ["capacity", folder, "--target-rate", "1000", "--gpus-per-instance", "2", "--gpu-hour", "3"];
    let out = desk.skyline(&needs).arg("--json").assert().code(0);
    let capacity: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    desk.assert_schema("capacity", &capacity);
    let offer = &capacity["offers"][0];
    let (instances, rate) =
        (offer["instances"].as_f64().unwrap(), offer["per_instance"]["rate_per_s"].as_f64().unwrap());
    assert_eq!(instances, (1_000.0 / 0.8 / rate).ceil());
    assert_eq!(offer["cost_per_hour"].as_f64().unwrap(), instances * 2.0 * 3.0);
    desk.skyline(&needs).args(["--max-gpus", "2"]).assert().code(1).stdout(contains("and the limit is 2"));
    let unpriced = ["capacity", folder, "--target-rate", "1000", "--gpu-hour", "3"];
    desk.skyline(&unpriced).assert().code(2).stderr(contains("--gpus-per-instance N"));

    let two = ["capacity", folder, folder, "--target-rate", "1000", "--gpus-per-instance", "2"];
    let prices = ["--gpu-hour", "3", "--gpu-hour", "2", "--json"];
    let out = desk.skyline(&two).args(prices).assert().code(0);
    let capacity: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!((&capacity["cheapest"], &capacity["compared_by"]), (&Value::from(1), &Value::from("price")));

    // A page of the offers: both curves, each with the rate that an instance carries; the picture of the two of them.
    let page = desk.path().join("capacity.html");
    let written = ["--gpu-hour", "3", "--gpu-hour", "2", "--page", page.to_str().unwrap()];
    desk.skyline(&two).args(written).assert().code(0).stderr(contains("page written to"));
    let page = std::fs::read_to_string(page).unwrap();
    let carried = format!(">highest {}", offer["per_instance"]["rate_per_s"]);
    let parts =
        ["Capacity for 1,000 requests/s", "TTFT over load, one instance", "The offers compared", "At other rates"];
    for part in parts {
        assert!(page.contains(part), "no {part}");
    }
    assert_eq!(page.matches("TTFT over load, one instance").count(), 2);
    let rate = carried.split('.').next().unwrap();
    assert_eq!(page.matches(rate).count(), 4, "a line with its words and its label in both: {rate}");
    let three = [prices[0], prices[1], prices[2], prices[3], "--gpu-hour", "1"];
    desk.skyline(&two).args(three).assert().code(2).stderr(contains("one for each in their order"));
}

#[test]
fn the_speed_that_a_user_sees_is_searched_like_the_median_tpot() {
    let desk = Desk::new();
    let highest = |objective: &str| {
        let search = ["simulate", "short_chat", "--hardware", "h100", "--sweep", "--objective", objective, "--json"];
        let ended = desk.skyline(&search).args(["--max-runs", "10", "--samples", "300", "--allow-invalid"]).assert();
        let sweep: Value = serde_json::from_slice(&ended.get_output().stdout).unwrap();
        assert_eq!(sweep["answer"]["tightest"], objective);
        sweep["answer"]["estimate"].as_f64().unwrap()
    };
    let [by_speed, by_tpot] = ["tokens_per_s_per_user >= 100/s", "p50 tpot <= 10ms"].map(highest);
    assert!((by_speed / by_tpot - 1.0).abs() < 0.15, "{by_speed}/s and {by_tpot}/s");
}

#[test]
fn what_cannot_be_searched_or_read_is_refused() {
    let desk = Desk::new();
    desk.skyline(&["capacity", "results", "--target-rate", "1e30"])
        .assert()
        .code(2)
        .stderr(contains("`1e30` is over 1,000,000,000 requests per second"));
    desk.skyline(&["simulate", "quick.toml", "--sweep", "--objective", "goodput > 5/s"])
        .assert()
        .code(2)
        .stderr(contains("throughput rises with the load before it falls"));
    desk.skyline(&["simulate", "quick.toml", "--rates", "1,2"]).assert().code(2).stderr(contains("--sweep"));
    desk.skyline(&["capacity", "nowhere", "--target-rate", "1"])
        .assert()
        .code(2)
        .stderr(contains("there is no nowhere").and(contains("`skyline report results` lists")));
}
