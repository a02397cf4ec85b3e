//! Lengths that are requested: servers that ignore them, and prompts that no context holds.

use std::sync::{Arc, Mutex};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Desk, Seen, answer, control, mock, serve, stream};

/// A server that goes by one field for the most tokens and makes so many without it; the bodies of all requests.
fn limited_by(field: &'static str, usual: usize) -> (String, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&bodies);
    let address = serve(move |seen: &Seen| {
        control(seen).unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let limit = body[field].as_u64().map_or(usual, |limit| limit as usize);
            log.lock().unwrap().push(body);
            stream(limit)
        })
    });
    (format!("http://{address}"), bodies)
}

const OPENAI: [&str; 4] = ["--engine", "openai", "--model", "toy"];

#[test]
fn a_limit_is_asked_for_with_the_field_that_the_server_goes_by() {
    let (url, bodies) = limited_by("max_tokens", 20);
    let desk = Desk::new();
    let check = [&["check", "--url", &url][..], &OPENAI].concat();
    let found = || contains("with max_tokens").and(contains("max_completion_tokens"));
    desk.skyline(&check).assert().code(0).stdout(found().and(contains("READY")));
    assert_eq!(bodies.lock().unwrap().len(), 3, "the other limit, and whether it is forced");
    let bench = ["bench", "quick.toml", "--url", &url, "--no-calibration", "--out", "results"];
    desk.skyline(&[&bench[..], &OPENAI, &["--allow-invalid"]].concat()).assert().code(0).stderr(found());
    let header = &desk.lines("header")[0];
    assert_eq!(header["engines"][0]["length_fields"], "max_tokens", "{header}");
    let tokens = &desk.summary()["tokens"]["output"];
    assert_eq!(tokens["received_tokens"], tokens["requested_tokens"], "{tokens}");
    let bodies = bodies.lock().unwrap();
    assert!(bodies.last().unwrap().get("max_completion_tokens").is_none(), "{:?}", bodies.last());
}

#[test]
fn a_server_that_keeps_no_length_is_not_ready() {
    let (url, bodies) = limited_by("nothing", 20);
    let desk = Desk::new();
    let check = [&["check", "--url", &url][..], &OPENAI].concat();
    let said = || contains("ignores the requested length").and(contains("20 tokens for 4")).and(contains("--engine"));
    desk.skyline(&check).assert().code(1).stdout(said().and(contains("FAILED")));
    assert_eq!(bodies.lock().unwrap().len(), 2);
    let bench = ["bench", "quick.toml", "1", "--url", &url, "--no-calibration", "--out", "results"];
    desk.skyline(&[&bench[..], &OPENAI].concat()).assert().stderr(said());
    let findings = desk.summary()["findings"].to_string();
    assert!(findings.contains("the requested length is ignored: answers are 150 % longer"), "{findings}");
}

/// An endless answer is not read to its end.
#[test]
fn an_answer_without_a_limit_is_not_waited_for() {
    let (url, _) = limited_by("max_tokens", 100_000);
    let check = [&["check", "--url", &url][..], &OPENAI].concat();
    Desk::new().skyline(&check).assert().code(0).stdout(contains("with max_tokens"));
}

#[test]
fn fields_that_a_server_refuses_by_name_are_left_out() {
    let address = serve(|seen: &Seen| {
        control(seen).unwrap_or_else(|| {
            let unexpected = r#"{"detail":"Unexpected fields in the request: {'ignore_eos', 'min_tokens'}"}"#;
            let refused = answer("422 Unprocessable Entity", "application/json", unexpected);
            if seen.body.contains("ignore_eos") { refused } else { stream(4) }
        })
    });
    let check = ["check", "--url", &format!("http://{address}"), "--engine", "vllm"];
    Desk::new()
        .skyline(&check)
        .assert()
        .code(0)
        .stderr(contains("does not go by max_tokens, ignore_eos").and(contains("with max_tokens")));
}

/// A server that goes by one field for the most tokens and whose model answers with one word or with 90, unless a field
/// keeps it from its end; it may refuse such a field. The bodies of all requests.
fn with_a_model(
    limit: &'static str,
    forced_by: &'static str,
    refused: &'static str,
) -> (String, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&bodies);
    let address = serve(move |seen: &Seen| {
        control(seen).unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            log.lock().unwrap().push(body.clone());
            if !refused.is_empty() && body.get(refused).is_some() {
                let unexpected = format!(r#"{{"detail":"Unexpected fields: {{'{refused}'}}"}}"#);
                return answer("422 Unprocessable Entity", "application/json", &unexpected);
            }
            let usual = match body.get(forced_by) {
                Some(_) => 3_000,
                None if seen.body.contains("one word") => 2,
                None => 90,
            };
            let asked = body[limit].as_u64().map_or(usual, |limit| limit as usize);
            if asked < usual { stream(asked) } else { stream(usual).replace("\"length\"", "\"stop\"") }
        })
    });
    (format!("http://{address}"), bodies)
}

#[test]
fn an_answer_that_ends_early_shows_which_fields_force_its_length() {
    let desk = Desk::new();
    for (engine, limit, field, with, tests) in [
        ("vllm", "max_tokens", "ignore_eos", None, 1),
        ("vllm", "max_completion_tokens", "ignore_eos", Some("max_completion_tokens"), 3),
        ("llamacpp", "max_tokens", "ignore_eos", None, 1),
        ("llamacpp", "max_tokens", "min_tokens", Some("with min_tokens too"), 3),
        ("openai", "max_completion_tokens", "min_tokens", Some("with ignore_eos and min_tokens too"), 4),
        ("openai", "max_completion_tokens", "ignore_eos", Some("with ignore_eos too"), 3),
        ("openai", "max_tokens", "ignore_eos", Some("does not go by"), 4),
    ] {
        let (url, bodies) = with_a_model(limit, field, "");
        let check = ["check", "--url", &url, "--engine", engine, "--model", "toy"];
        let check = desk.skyline(&check).assert().code(0).stdout(contains("kept: 4 tokens"));
        if let Some(with) = with {
            check.stderr(contains(with));
        }
        let bodies = bodies.lock().unwrap();
        assert_eq!(bodies.len(), tests, "{engine}, {limit}, {field}");
        let unlimited = bodies.iter().filter(|body| body.get(limit).is_none() && body.get(field).is_some());
        assert_eq!(unlimited.count(), usize::from(engine != "openai" && limit != "max_tokens"), "{engine}");
    }
}

/// As of `transformers serve`.
#[test]
fn a_limit_that_is_ignored_is_found_where_models_end_early_and_nothing_forces_them() {
    let desk = Desk::new();
    let (url, bodies) = with_a_model("max_tokens", "ignore_eos", "ignore_eos");
    let check = [&["check", "--url", &url][..], &OPENAI].concat();
    let said = contains("does not force").and(contains("refuses")).and(contains("READY"));
    desk.skyline(&check).assert().code(0).stdout(said).stderr(contains("with max_tokens"));
    assert_eq!(bodies.lock().unwrap().len(), 4);
    let bench = ["bench", "quick.toml", "1", "--url", &url, "--no-calibration", "--out", "results"];
    desk.skyline(&[&bench[..], &OPENAI].concat()).output().unwrap();
    let last = bodies.lock().unwrap().last().unwrap().clone();
    assert!(last.get("max_tokens").is_some() && last.get("ignore_eos").is_none(), "{last}");
    let (url, bodies) = with_a_model("nothing", "ignore_eos", "ignore_eos");
    let check = [&["check", "--url", &url][..], &OPENAI].concat();
    let said = contains("ignores the requested length").and(contains("FAILED"));
    desk.skyline(&check).assert().code(1).stdout(said);
    assert!(bodies.lock().unwrap().iter().all(|body| body.get("ignore_eos").is_none()));
}

#[test]
fn a_server_that_forces_no_length_is_named_before_the_load() {
    let (url, _) = with_a_model("max_tokens", "nothing", "");
    let desk = Desk::new();
    let to = ["--url", &url, "--engine", "vllm", "--model", "toy"];
    let said = || {
        let what = contains("does not force the requested length").and(contains("2 tokens of 4"));
        what.and(contains("although it was sent ignore_eos"))
    };
    desk.skyline(&[&["check"][..], &to].concat()).assert().code(0).stdout(said().and(contains("READY")));
    let bench = ["bench", "quick.toml", "1", "--no-calibration", "--out", "results"];
    desk.skyline(&[&bench[..], &to].concat()).assert().stderr(contains("warning: ").and(said()));
}

const LONG: &str = r#"
name = "long"
horizon_s = 2
warmup_s = 0
arrival = { kind = "constant", rate_per_s = 10 }
[[classes]]
name = "short"
weight = SHORT
input_tokens = { kind = "constant", value = 20 }
output_tokens = { kind = "constant", value = 4 }
[[classes]]
name = "long"
weight = 1
input_tokens = { kind = "constant", value = 600 }
output_tokens = { kind = "constant", value = 4 }
"#;

#[test]
fn prompts_that_no_context_holds_are_refused_before_any_load() {
    let mock = mock(&["--max-model-len", "512"]);
    let desk = Desk::new();
    desk.file("long.toml", &LONG.replace("SHORT", "0"));
    let bench = ["bench", "long.toml", "--engine", "mock", "--url", &mock.url, "--no-calibration", "--out", "results"];
    let refused = contains("19 of 19 prompts exceed 512 tokens").and(contains("--max-model-len"));
    desk.skyline(&bench).assert().code(2).stderr(refused.and(contains("no load was sent")));
    assert!(desk.runs().is_empty());
    // A few of them are sent, with a warning.
    desk.file("long.toml", &LONG.replace("SHORT", "3"));
    desk.skyline(&bench).assert().stderr(contains("of 19 prompts exceed").and(contains("may refuse")));
    assert_eq!(desk.runs().len(), 1);
    // What the server is asked to cut is no reason to refuse: this one does not, and all fail.
    desk.file("long.toml", &LONG.replace("SHORT", "0"));
    let cut = ["--extra-body", r#"{"truncate_prompt_tokens": 400}"#];
    desk.skyline(&[&bench[..], &cut].concat()).assert().code(3).stderr(contains("exceed 512").not());
    assert_eq!(desk.runs().len(), 2);
}
