//! `skyline workloads`: what is listed can be shown, and what is shown can be flown.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::Desk;

#[test]
fn every_workload_that_is_listed_can_be_shown_and_started_from() {
    let desk = Desk::new();
    let list = desk.skyline(&["workloads", "--format", "json"]).assert().code(0);
    let list: Value = serde_json::from_slice(&list.get_output().stdout).unwrap();
    let workloads = list["workloads"].as_array().unwrap();
    let names: Vec<_> = workloads.iter().map(|workload| workload["name"].as_str().unwrap()).collect();
    assert!(["short_chat", "long_rag", "bursty_mix"].iter().all(|name| names.contains(name)), "{names:?}");
    for name in names {
        desk.skyline(&["workloads"]).assert().code(0).stdout(contains(format!("  {name} ")));
        let shown = desk.skyline(&["workloads", "show", name]).assert().code(0);
        let text = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
        let copy = desk.file("mine.toml", &text);
        let again = desk.skyline(&["workloads", "show", copy.to_str().unwrap()]).assert().code(0);
        assert_eq!(String::from_utf8(again.get_output().stdout.clone()).unwrap(), text, "{name}");
    }
}

#[test]
fn a_workload_that_is_none_is_answered_with_those_there_are() {
    let desk = Desk::new();
    desk.skyline(&["workloads", "show", "long_rug"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("long_rug").and(contains("long_rag")));
}

/// The command in the comments of a workload that says on which GPU its promises are kept.
fn said_to_suit(text: &str) -> Vec<String> {
    let comments: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let comments = comments.join(" ");
    let (_, command) = comments.split_once("`skyline simulate ").unwrap();
    let (command, _) = command.split_once('`').unwrap();
    command.split_whitespace().map(str::to_owned).collect()
}

/// Every prediction keeps its schema too.
#[test]
fn every_workload_keeps_its_promises_where_it_says() {
    let desk = Desk::new();
    for name in skyline::workload::library::names() {
        let command = said_to_suit(skyline::workload::library::source(name).unwrap());
        assert_eq!(command[0], name);
        let flown = desk.skyline(&["simulate", "--json"]).args(&command).assert().code(0);
        let prediction: Value = serde_json::from_slice(&flown.get_output().stdout).unwrap();
        desk.assert_schema("summary", &prediction["summary"]);
        let kept = prediction["summary"]["slo"]["slo_attainment"].as_f64().unwrap();
        assert!(kept > 0.85, "{name}: {kept} of its promises are kept by `simulate {}`", command.join(" "));
    }
}
