//! Stored runs held against a baseline: what is refused, what is told, what the exit code says.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

/// Simulates the quick workload into `out` and names the folder that it got.
fn simulated(desk: &Desk, out: &str, more: &[&str]) -> String {
    let arguments = [&["simulate", "quick.toml", "--out", out, "--allow-invalid"], more].concat();
    desk.skyline(&arguments).assert().code(predicate::in_iter([0, 1]));
    let folder = desk.file("x", "").parent().unwrap().join(out);
    let kept: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    format!("{out}/{}", kept[0].to_str().unwrap())
}

#[test]
fn a_run_is_held_against_itself_and_against_another() {
    let desk = Desk::new();
    let one = simulated(&desk, "one", &[]);
    let slow = simulated(&desk, "slow", &["--hardware", "l4"]);
    let compare = |more: &[&str]| {
        let mut command = desk.skyline(&["compare", &one, &slow, "--allow-invalid"]);
        command.args(more);
        command
    };
    compare(&[])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("modelled.hardware: h100 (").and(contains("--vary hardware")));
    compare(&["--vary", "hardware"]).assert().code(0).stdout(contains("one run a side cannot show"));
    compare(&["--vary", "hardware", "--max-regression", "p50 ttft 1%"])
        .assert()
        .code(1)
        .stdout(contains("✗ missed: p50 ttft at most 1 % worse"));
    compare(&["--vary", "hardware", "--require-improvement", "p50 ttft 25%"]).assert().code(1);
    for (how, code) in [("pass", 0), ("fail", 1)] {
        let gate = ["--vary", "hardware", "--max-regression", "p99 itl 500%", "--undecided", how];
        compare(&gate).assert().code(code).stdout(contains(format!("by --undecided {how}")));
    }
    compare(&["--vary", "hardware", "--undecided", "fail"])
        .assert()
        .code(0)
        .stderr(contains("note: --undecided does nothing here, because there is no demand"));
    compare(&["--vary", "speed"]).assert().code(2).stderr(contains("speed"));
    compare(&["--max-regression", "ttft 10%"]).assert().code(2).stderr(contains("say which part of it"));
    desk.skyline(&["compare", &one]).assert().code(2);
    let same = desk
        .skyline(&["compare", &one, &one, "--json", "--allow-invalid", "--max-regression", "p99 ttft 0%"])
        .assert()
        .code(0);
    let json: Value = serde_json::from_slice(&same.get_output().stdout).unwrap();
    desk.assert_schema("compare", &json);
    // That nothing at all became worse, no run can show.
    assert_eq!(json["against"][0]["gates"][0]["passes"], true);
    assert_eq!(json["against"][0]["pairing"], "same_plan");
    let other = simulated(&desk, "other", &["--seed", "9"]);
    desk.skyline(&["compare", &one, &other, "--allow-invalid"])
        .assert()
        .code(0)
        .stdout(contains("of plans of their own").and(contains("! the runs have plans of their own")));
    assert!(json["differences"].as_array().unwrap().is_empty(), "{json}");
    let p99 = &json["against"][0]["rows"][2];
    assert_eq!((&p99["figure"], &p99["change"]["value"]), (&Value::from("p99 ttft"), &Value::from(0.0)));
}

#[test]
fn a_comparison_for_the_summary_of_a_job() {
    let desk = Desk::new();
    let one = simulated(&desk, "one", &[]);
    let slow = simulated(&desk, "slow", &["--hardware", "l4"]);
    let compare = |more: &[&str]| {
        let mut command = desk.skyline(&["compare", &one, &slow, "--allow-invalid", "--vary", "hardware"]);
        command.args(["--max-regression", "p50 ttft 1%", "--max-regression", "error_rate 90%"]).args(more);
        command.assert()
    };
    let table = contains("## ❌ FAILED: 1 of 2 demands met; p95 TTFT +")
        .and(contains("missed: p50 ttft at most 1 % worse ("))
        .and(contains("met: error_rate at most"))
        .and(contains("modelled.hardware: h100 → l4"));
    // It takes the place of the text, and the exit code is as ever.
    compare(&["--markdown", "-"]).code(1).stdout(table);
    compare(&["--markdown", "both.md"])
        .code(1)
        .stdout(contains("FAILED: 1 of 2 demands met"))
        .stderr(contains("Markdown written to both.md"));
    assert!(std::fs::read_to_string(desk.path().join("both.md")).unwrap().starts_with("## ❌ FAILED: 1 of 2"));
    compare(&["--markdown", "-", "--json"]).code(2).stdout("").stderr(contains("both go to standard output"));
}

#[test]
fn repeats_of_the_same_seed_are_paired_and_make_a_page() {
    let desk = Desk::new();
    let one = simulated(&desk, "one", &["--repeats", "3"]);
    let slow = simulated(&desk, "slow", &["--repeats", "3", "--hardware", "l4"]);
    let other = simulated(&desk, "other", &["--repeats", "3", "--seed", "9"]);
    desk.skyline(&["compare", &one, &slow, &other, "--vary", "hardware", "--allow-invalid", "--page", "page.html"])
        .assert()
        .code(0)
        .stdout(contains("paired t").and(contains("plans of their own, Welch's")).and(contains("Over time: 3")));
    let page = std::fs::read_to_string(desk.file("x", "").with_file_name("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && page.matches("<script").count() == 1);
    let run = format!("{one}/run-1");
    desk.skyline(&["compare", &run, &slow]).assert().code(2).stderr(contains("compare like with like"));
}

#[test]
fn what_deserves_no_belief_is_not_compared() {
    let desk = Desk::new();
    let good = simulated(&desk, "good", &[]);
    // A server that is far too slow for the rate: that is an answer.
    let slow = simulated(&desk, "slow", &["--ttft", "5s", "--itl", "100ms", "--places", "1"]);
    let compared = desk.skyline(&["compare", &good, &slow, "--vary", "simulated", "--vary", "model"]).assert().code(0);
    compared.stdout(contains("; OVERLOADED"));
    // A log that lost a request.
    let bad = simulated(&desk, "bad", &[]);
    let log = desk.path().join(&bad).join("run.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let without = text.split_inclusive('\n').enumerate().filter(|(number, _)| *number != 7);
    std::fs::write(&log, without.map(|(_, line)| line).collect::<String>()).unwrap();
    desk.skyline(&["compare", &good, &bad])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains("is INVALID").and(contains("--allow-invalid")));
}

#[test]
fn sweeps_are_compared_by_their_answers_and_load_by_load() {
    let desk = Desk::new();
    let sweep = |out: &str, more: &[&str]| {
        let rates = ["--sweep", "--rates", "10,20,40", "--objective", "p95 ttft < 10s", "--samples", "40"];
        simulated(&desk, out, &[&rates[..], more].concat())
    };
    let one = sweep("one", &["--repeats", "2"]);
    let slow = sweep("slow", &["--repeats", "2", "--hardware", "l4"]);
    let base = desk.file("x", "").parent().unwrap().to_path_buf();
    let page = std::fs::read_to_string(base.join(&one).join("report.html")).unwrap();
    assert!(page.contains("TTFT over load") && page.contains("<svg") && page.matches("<script").count() == 1, "{page}");
    let compare = |more: &[&str]| {
        let mut command = desk.skyline(&["compare", &one, &slow, "--allow-invalid"]);
        command.args(more);
        command
    };
    compare(&[]).assert().code(2).stderr(contains("--vary hardware"));
    compare(&["--vary", "hardware", "--page", "both.html"])
        .assert()
        .code(0)
        .stdout(contains("Highest load that meets the objectives").and(contains("20.0/s p99 ttft, ms")));
    assert!(std::fs::read_to_string(base.join("both.html")).unwrap().contains("p99 TTFT over load"));
    compare(&["--vary", "hardware", "--max-regression", "p50 ttft 1%"])
        .assert()
        .code(1)
        .stdout(contains("missed: p50 ttft at most 1 % worse at 10.0/s"));
    compare(&["--vary", "hardware", "--max-regression", "p50 ttft 1%", "--markdown", "-"])
        .assert()
        .code(1)
        .stdout(contains("## ❌ ").and(contains("missed: p50 ttft at most 1 % worse at 10.0/s")));
    let same = desk.skyline(&["compare", &one, &one, "--json", "--allow-invalid"]).assert().code(0);
    let json: Value = serde_json::from_slice(&same.get_output().stdout).unwrap();
    desk.assert_schema("compare-sweeps", &json);
    assert_eq!(json["against"][0]["loads"][0]["pairing"], "paired");
    assert_eq!(json["against"][0]["loads"][0]["rows"][0]["change"]["value"], 0.0);
    let run = format!("{one}/run-001");
    desk.skyline(&["compare", &one, &run]).assert().code(2).stderr(contains("compare like with like"));
}

#[test]
fn what_is_not_there_or_not_known_is_told_by_its_name() {
    let desk = Desk::new();
    let run = simulated(&desk, "base", &[]);
    for (typed, report) in [
        (&["compare", &run, "nowhere"][..], "nowhere is not there\nhint: name the folder of a run"),
        (&["compare", &run, &run, "--max-regression", "p95 ttft of nobody 10%"], "the figure `p95 ttft of nobody`"),
    ] {
        let out = desk.skyline(typed).assert().code(2);
        let words = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(words.contains(report), "{typed:?}: {words}");
    }
}
