//! Results of simulations: kept runs, exit codes, comparisons, tags.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

#[test]
fn a_kept_run_is_shown_again_identically() {
    let desk = Desk::new();
    let arguments = ["simulate", "quick.toml", "--out", "results", "--objective", "max ttft < 1s", "--json"];
    let out = desk.skyline(&arguments).assert().code(0).stderr(contains("saved to"));
    let all: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let run = desk.run();
    assert!(run.file_name().unwrap().to_str().unwrap().starts_with("quick-simulator-"));
    let again = desk.skyline(&["report", run.to_str().unwrap(), "--json"]).assert().code(0);
    let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
    let stored = std::fs::read_to_string(run.join("summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), again);
    let mut whole = all["summary"].clone();
    whole["diagnosis"] = all["diagnosis"].clone();
    assert_eq!(again, whole);
}

#[test]
fn a_missed_objective_exits_with_1_and_failures_with_3() {
    let desk = Desk::new();
    let missed = ["simulate", "quick.toml", "--objective", "p50 ttft < 1ms"];
    desk.skyline(&missed).assert().code(1).stdout(contains("Objectives"));
    // Ten tokens of context: every request is refused.
    desk.skyline(&["simulate", "quick.toml", "--max-model-len", "10"])
        .assert()
        .code(3)
        .stdout(contains("INVALID").and(contains("http 400")).and(contains("\n  • every request was refused:")));
}

#[test]
fn two_models_are_compared_in_rounds_as_ab_does() {
    let desk = Desk::new();
    let shared = ["simulate", "quick.toml", "--ttft", "80ms", "--itl", "10ms", "--rounds", "8", "--out", "results"];
    let ab = [&shared[..], &["--ab", "", "--ttft 100ms", "--json"]].concat();
    let out = desk.skyline(&ab).assert().code(1);
    let test: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!((&test["verdict"], &test["counted_rounds"]), (&Value::from("worse"), &Value::from(8)));
    assert_eq!(test["metrics"][0]["ratio"]["value"], 1.25);
    let unlike = serde_json::json!([{ "what": "ttft", "a": "80ms", "b": "100ms" }]);
    assert_eq!(test["sides"]["unlike"], unlike);
    // What is stored is what `ab` stores.
    let folder = desk.run();
    let shown = desk.skyline(&["report", folder.to_str().unwrap(), "--json"]).assert().code(1);
    assert_eq!(serde_json::from_slice::<Value>(&shown.get_output().stdout).unwrap(), test);
    assert!(folder.join("round-8/b/run.jsonl").is_file() && folder.join("report.html").is_file());
    let same = [&shared[..], &["--ab", "", "", "--require", "equivalent"]].concat();
    desk.skyline(&same).assert().code(0).stdout(contains("EQUIVALENT"));
}

/// Tags of rows and classes go from the file to the report, and a wrong name of a tag or a slice stops before anything runs.
#[test]
fn a_run_is_judged_by_the_tags_of_its_rows() {
    let desk = Desk::new();
    desk.file("rows.csv", "prompt,country\nWhat is a monad?,de\nWho wrote Emma?,fr\nWhy is the sky blue?,de\n");
    desk.file(
        "tagged.toml",
        "name = \"tagged\"\nhorizon_s = 30\nwarmup_s = 0\nseed = 1\narrival = { kind = \"poisson\", rate_per_s = 5 }\n\
         [[classes]]\nname = \"rows\"\nmetadata = { team = \"search\" }\n\
         output_tokens = { kind = \"constant\", value = 5 }\n\
         prompt = { kind = \"dataset\", path = \"rows.csv\", metadata = [\"country\"] }\n\
         [[checks]]\nname = \"sum\"\nslice = \"arithmetic\"\nprompt = \"2 + 2?\"\nexpect = { contains = \"4\" }\n",
    );
    let arguments = ["simulate", "tagged.toml", "--ttft", "80ms", "--itl", "5ms", "--out", "results", "--json"];
    let met = ["--objective", "max ttft of tag country=de < 1s", "--objective", "max ttft of team=search < 1s"];
    let out = desk.skyline(&[&arguments[..], &met].concat()).assert().code(0);
    let all: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    let tags = &all["summary"]["tags"];
    assert_eq!((&tags[0]["key"], &tags[1]["key"]), (&"country".into(), &"team".into()));
    let parts = all["summary"]["parts"].as_array().unwrap();
    let tagged: Vec<_> = parts.iter().filter(|part| part["kind"] == "tag").collect();
    let (de, fr) = (tagged[0], tagged[1]);
    assert_eq!((&de["name"], &fr["name"]), (&"country=de".into(), &"country=fr".into()));
    let [de, fr] = [de, fr].map(|group| group["requests"].as_u64().unwrap());
    assert!(de.abs_diff(2 * fr) <= 2 && fr > 30, "two rows of three are German: {de} {fr}");
    let run = desk.run();
    let rows = desk.skyline(&["report", run.to_str().unwrap(), "--format", "requests.csv=-"]).assert().code(0);
    let rows = String::from_utf8(rows.get_output().stdout.clone()).unwrap();
    assert!(rows.lines().next().unwrap().ends_with(",tag_country,tag_team"), "{rows}");
    assert_eq!(rows.lines().filter(|row| row.ends_with(",de,search")).count() as u64, de);
    let full = desk.skyline(&["report", run.to_str().unwrap()]).assert().code(0);
    full.stdout(contains("By country, ms"));
    for (objective, said) in [
        ("p95 ttft of tag country=dee < 1s", "did you mean `country=de`?"),
        ("check_pass_rate of slice arithmetics > 95%", "did you mean `arithmetic`?"),
    ] {
        desk.skyline(&["simulate", "tagged.toml", "--objective", objective])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
}
