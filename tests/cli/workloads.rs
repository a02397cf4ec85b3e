//! `skyline workloads`: what is listed can be shown, and what is shown can be flown.

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::Desk;

#[test]
fn every_workload_that_is_listed_can_be_shown_and_started_from() {
    let desk = Desk::new();
    let list = desk.skyline(&["workloads"]).assert().code(0);
    let list = String::from_utf8(list.get_output().stdout.clone()).unwrap();
    let names: Vec<_> = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(["short_chat", "long_rag", "bursty_mix"].iter().all(|name| names.contains(name)), "{names:?}");
    for name in names {
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
