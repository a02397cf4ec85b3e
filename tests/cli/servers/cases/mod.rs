//! The table of cases, `tests/data/cases.toml`: answers of servers as they are in the wild, and what is right to say of each.
//!
//! `SKYLINE_CASE=WORDS cargo test --test cli cases -- --nocapture` tries those with these words in their name alone and
//! prints what the program says. `SKYLINE_CASES=FILE` takes another table.

#![allow(clippy::print_stderr, reason = "a case that is tried alone is to be read")]

mod script;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::support::{Desk, OF_MACHINE, outcomes};

/// A server, a command line, and what is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: String,
    name: String,
    /// The script of its answers; absent: good ones.
    answer: Option<String>,
    frame: Option<server::Frame>,
    /// The script of every second answer of the run, or as `every` says, and what stands around it.
    bad: Option<String>,
    bad_frame: Option<server::Frame>,
    #[serde(default = "two")]
    every: usize,
    /// Answers to requests that have certain words.
    #[serde(default)]
    when: Vec<When>,
    /// Answers before a connection is closed without one.
    #[serde(default = "endless")]
    answers_a_connection: usize,
    #[serde(default)]
    pages: BTreeMap<String, server::Page>,
    /// The command line; `URL` stands for the server's.
    #[serde(default = "usual_run")]
    run: String,
    /// More options for it.
    #[serde(default)]
    with: String,
    /// Whether the same was run before, so that the server has seen its prompts.
    #[serde(default)]
    again: bool,
    #[serde(default)]
    files: BTreeMap<String, String>,
    verdict: Verdict,
    /// The rule that says so.
    rule: Option<String>,
    /// The exit code, where there is no verdict.
    exit: Option<i32>,
    /// What is said, whatever its line breaks, and what is not.
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    /// What some request for generation says, and what none does.
    #[serde(default)]
    sends: Vec<String>,
    #[serde(default)]
    never_sends: Vec<String>,
    /// Values of the stored summary, exact, by their JSON pointers.
    #[serde(default)]
    counts: BTreeMap<String, Value>,
    /// Values that are null there, or not there.
    #[serde(default)]
    absent: Vec<String>,
    /// Values within bounds.
    #[serde(default)]
    near: BTreeMap<String, (f64, f64)>,
}

/// An answer to a request with these words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    asked: String,
    answer: String,
    frame: Option<server::Frame>,
}

/// What is right to say of a run; what this machine did to it apart.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Valid,
    Invalid,
    Overloaded,
    /// No run is stored.
    Nothing,
}

const fn two() -> usize {
    2
}

const fn endless() -> usize {
    usize::MAX
}

fn usual_run() -> String {
    "bench --engine openai --url URL --model toy --endpoint chat --input-tokens 20 --output-tokens 8 --rate 20 \
     --requests 12 --warmup 0s --no-calibration --no-metrics"
        .to_owned()
}

/// Cases that are tried at a time by each test.
const AT_A_TIME: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

fn table() -> Vec<Case> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases.toml");
    let path = std::env::var_os("SKYLINE_CASES").map_or_else(usual, Into::into);
    toml::from_str::<Table>(&std::fs::read_to_string(path).unwrap()).unwrap().case
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is wrong with the outcome of a case, and what was printed.
fn tried(case: &Case) -> (Vec<String>, String) {
    let desk = Desk::new();
    for (name, text) in &case.files {
        desk.file(name, text);
    }
    let server = server::Scripted::from_case(case);
    let asked = server.asked();
    let url = server.start();
    let line = format!("{} {}", case.run, case.with).replace("URL", &url);
    let words = shlex::split(&line).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = || desk.skyline(&words).timeout(Duration::from_secs(120)).output().unwrap();
    if case.again {
        run();
        std::fs::remove_dir_all(desk.path().join("results")).unwrap();
    }
    let output = run();
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = in_one_line(&printed);
    let mut wrong = Vec::new();
    let lacks = case.says.iter().filter(|words| !said.contains(&in_one_line(words)));
    wrong.extend(lacks.map(|words| format!("lacks {words:?}")));
    let has = case.never.iter().filter(|words| said.contains(&in_one_line(words)));
    wrong.extend(has.map(|words| format!("has {words:?}")));
    let asked = asked.lock().unwrap();
    let unsent = case.sends.iter().filter(|words| !asked.contains(words.as_str()));
    wrong.extend(unsent.map(|words| format!("sends no {words:?}")));
    let sent = case.never_sends.iter().filter(|words| asked.contains(words.as_str()));
    wrong.extend(sent.map(|words| format!("sends {words:?}")));
    let code = output.status.code();
    if case.exit.is_some_and(|exit| code != Some(exit)) {
        wrong.push(format!("exit {code:?}"));
    }
    if desk.runs().is_empty() {
        if case.verdict != Verdict::Nothing {
            wrong.push("no run is stored".to_owned());
        }
        return (wrong, printed);
    }
    let summary = desk.summary();
    wrong.extend(of_verdict(case, &summary, code));
    for (pointer, expected) in &case.counts {
        let found = summary.pointer(pointer).unwrap_or(&Value::Null);
        if found != expected && (found.as_f64().is_none() || found.as_f64() != expected.as_f64()) {
            wrong.push(format!("{pointer} is {found}, not {expected}"));
        }
    }
    let known = case.absent.iter().filter(|pointer| summary.pointer(pointer).is_some_and(|value| !value.is_null()));
    wrong.extend(known.map(|pointer| format!("{pointer} is {}", summary.pointer(pointer).unwrap())));
    for (pointer, (low, high)) in &case.near {
        let found = summary.pointer(pointer).unwrap_or(&Value::Null);
        if !found.as_f64().is_some_and(|found| (*low..=*high).contains(&found)) {
            wrong.push(format!("{pointer} is {found}, not from {low} to {high}"));
        }
    }
    (wrong, printed)
}

/// What is wrong with the verdict and the exit code.
fn of_verdict(case: &Case, summary: &Value, code: Option<i32>) -> Vec<String> {
    let reasons = summary["verdict"]["reasons"].as_array().unwrap();
    let rules = reasons.iter().map(|reason| reason["rule"].as_str().unwrap());
    let (of_machine, of_server): (Vec<_>, Vec<_>) = rules.partition(|rule| OF_MACHINE.contains(rule));
    let (expected, exit) = match case.verdict {
        Verdict::Valid => ("valid", 0),
        Verdict::Overloaded => ("overloaded", 1),
        Verdict::Invalid => ("invalid", 3),
        Verdict::Nothing => return vec!["a run is stored".to_owned()],
    };
    let mut wrong = Vec::new();
    let found = outcomes(summary);
    if !found.contains(&expected) {
        wrong.push(format!("{found:?} by {of_server:?}, not {expected}"));
    }
    if case.exit.is_none() && code != Some(exit) && of_machine.is_empty() {
        wrong.push(format!("exit {code:?}, not {exit}"));
    }
    if case.rule.as_ref().is_some_and(|rule| !of_server.contains(&rule.as_str())) {
        wrong.push(format!("by {of_server:?}, not by {:?}", case.rule));
    }
    wrong
}

/// Tries the cases of these kinds.
fn try_all(kinds: &[&str]) {
    let only = std::env::var("SKYLINE_CASE").ok();
    let is_chosen = |case: &Case| {
        kinds.contains(&case.kind.as_str()) && only.as_deref().is_none_or(|words| case.name.contains(words))
    };
    let chosen: Vec<_> = table().into_iter().filter(is_chosen).collect();
    let (next, all_wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (wrong, printed) = tried(case);
                    if only.is_some() {
                        eprintln!("== {}: {wrong:?}\n{printed}", case.name);
                    }
                    if !wrong.is_empty() {
                        all_wrong.lock().unwrap().push(format!("{}: {}\n{printed}", case.name, wrong.join("; ")));
                    }
                }
            });
        }
    });
    let wrong = all_wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), chosen.len(), wrong.join("\n\n"));
}

/// The kinds, a test for each few, so that tests share the machine.
const KINDS: [&[&str]; 4] = [
    &["failures inside streams", "reasons"],
    &["counts", "reasoning", "odd types"],
    &["what is no chunk", "framing", "media types"],
    &["http", "whole answers", "checks", "metrics", "prompts", "refusals", "time"],
];

#[test]
fn every_case_is_of_a_kind_that_is_tried() {
    let cases = table();
    let known = |case: &&Case| KINDS.concat().contains(&case.kind.as_str());
    let unknown: Vec<_> = cases.iter().filter(|case| !known(case)).map(|case| &case.kind).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let mut names: Vec<_> = cases.iter().map(|case| &case.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), cases.len(), "a name is of one case");
}

#[test]
fn failures_inside_streams_are_failures() {
    try_all(KINDS[0]);
}

#[test]
fn counts_and_odd_types_are_read_as_far_as_they_can_be() {
    try_all(KINDS[1]);
}

#[test]
fn what_frames_an_answer_is_read_past() {
    try_all(KINDS[2]);
}

#[test]
fn http_pages_and_refusals_are_read_rightly() {
    try_all(KINDS[3]);
}
