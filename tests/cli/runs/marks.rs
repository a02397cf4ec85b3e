//! Shared prefixes, tenants, models and priorities, from the workload to the report.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use skyline::mock::{Backend, MockOptions, MockServer, PromptDetails};

use crate::quick::QUICK;
use crate::support::{Desk, answer, control, serve, stream};

/// The quick workload on four prefixes, with two tenants and two models.
fn marked() -> String {
    let marks = r#"
models = { names = ["base", "sql"], weights = [3, 1] }
[[tenants]]
name = "steady"
weight = 3
slo = { ttft_ms = 5000 }
[[tenants]]
name = "noisy"
[arrival]"#;
    let prefixes = "name = \"tiny\"\nshared_prefix = { count = 4, tokens = 70, zipf = 1, warm = 0.25 }";
    QUICK.replace("\n[arrival]", marks).replace("name = \"tiny\"", prefixes)
}

/// Whether two shares are less than five points apart.
fn near(one: &Value, other: &Value) -> bool {
    (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 0.05
}

#[test]
fn planned_and_measured_hit_rates_stand_side_by_side() {
    let desk = Desk::new();
    desk.file("marked.toml", &marked());
    let shown = desk.skyline(&["bench", "marked.toml", "--reset-cache", "--allow-invalid"]).assert().code(0);
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    for part in ["Prefix cache", "by the server's counters", "By tenant", "fairness", "By model", "base, sql"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let summary = desk.summary();
    let cache = &summary["prefix_cache"];
    // 70 tokens are four blocks of 16, and about eight follow.
    assert!((0.5..0.9).contains(&cache["expected_least"].as_f64().unwrap()), "{cache}");
    assert!(near(&cache["measured"]["rate"], &cache["expected_least"]), "{cache}");
    assert_eq!(cache["measured"]["source"], json!("counters"));
    let header = &desk.lines("header")[0];
    assert_eq!(header["cache"], json!({ "emptied": true, "warmed_prefixes": 1 }));
    let requests = desk.lines("request");
    let measured = || requests.iter().filter(|request| request["phase"] == "measured");
    for field in ["tenant", "model"] {
        let parts = summary["parts"].as_array().unwrap();
        let groups: Vec<_> = parts.iter().filter(|part| part["kind"] == json!(field)).collect();
        assert_eq!(groups.len(), 2);
        for (place, group) in groups.iter().enumerate() {
            let own = measured().filter(|request| request[field] == json!(place)).count();
            assert_eq!(group["requests"], json!(own), "{group}");
        }
    }
}

#[test]
fn a_simulated_server_finds_what_the_plan_shares() {
    let desk = Desk::new();
    desk.file("marked.toml", &marked());
    let arguments = ["simulate", "marked.toml", "--json", "--allow-invalid"];
    let report = desk.skyline(&arguments).assert().code(0).stderr(contains("begins with an empty cache"));
    let summary: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    let cache = &summary["summary"]["prefix_cache"];
    assert_eq!(cache["measured"]["source"], json!("usage"), "{cache}");
    assert!(near(&cache["measured"]["rate"], &cache["expected_least"]), "{cache}");
}

#[test]
fn models_that_are_not_served_are_refused_before_the_load() {
    let desk = Desk::new();
    desk.file("marked.toml", &marked());
    let mock = mock();
    desk.skyline(&["bench", "marked.toml", "--url", &format!("http://{}", mock.address())])
        .assert()
        .code(3)
        .stderr(contains("does not serve `base`; it lists: llama-3.1-8b, sql"));
    assert!(desk.runs().is_empty(), "nothing was flown");
}

#[test]
fn priorities_are_said_where_the_server_takes_them() {
    let desk = Desk::new();
    let arguments = |address: SocketAddr| format!("http://{address}");
    // As vLLM's first engine (V0) did; that of today takes the field and passes over it.
    let refusal = json!({ "error": { "message": "Got priority -1 but Priority scheduling is not enabled." } });
    let old = serve(move |seen| {
        control(seen).unwrap_or_else(|| answer("400 Bad Request", "application/json", &refusal.to_string()))
    });
    desk.skyline(&["bench", "quick.toml", "--send-priority", "--url", &arguments(old)]).assert().code(3).stderr(
        contains("Priority scheduling is not enabled").and(contains("start it with --scheduling-policy priority")),
    );
    assert!(desk.runs().is_empty(), "nothing was flown");

    let shares = "priorities = [{ priority = \"high\" }, { priority = \"medium\" }, { priority = \"low\" }]\n";
    desk.file("urgent.toml", &QUICK.replace("[classes.prompt]", &format!("{shares}[classes.prompt]")));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let by_hand = Arc::clone(&heard);
    let server = serve(move |seen| {
        control(seen).unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            by_hand.lock().unwrap().push(body["priority"].clone());
            stream(8)
        })
    });
    desk.skyline(&["bench", "urgent.toml", "--send-priority", "--allow-invalid", "--url", &arguments(server)])
        .assert()
        .code(0)
        .stderr(contains("note: a server that does not schedule by priority"));
    let named = |value: &Value| match value.as_str() {
        Some("high") => -1,
        Some("medium") => 0,
        _ => 1,
    };
    let heard = heard.lock().unwrap();
    assert_eq!(heard[0], -1, "the test request is the most urgent");
    let requests = desk.lines("request");
    for urgency in [-1, 0, 1] {
        let said = heard[1..].iter().filter(|value| **value == urgency).count();
        let own = || requests.iter().filter(|request| named(&request["priority"]) == urgency);
        let measured = own().filter(|request| request["phase"] == "measured").count();
        // What was let go when the run ended may not have been read.
        assert!(measured > 0 && (measured..=own().count()).contains(&said), "{urgency}: {said} of {measured}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_cure() {
    let desk = Desk::new();
    desk.file("marked.toml", &marked());
    let url = ["--url", "http://127.0.0.1:9"];
    for (arguments, said) in [
        (&["--model", "base"][..], "leave --model out"),
        (&["--extra-body", "{\"model\": \"base\"}"], "--extra-body has a `model`"),
        (&["--send-priority", "--engine", "tgi"], "has no field for the priority"),
        (&["--shard", "1/2"], "give all of them the same --salt"),
    ] {
        let all = [&["bench", "marked.toml"], &url[..], arguments].concat();
        desk.skyline(&all).assert().code(2).stderr(contains(said));
    }
    let mock = mock();
    let url = format!("http://{}", mock.address());
    let arguments = ["bench", "quick.toml", "--no-calibration", "--reset-cache", "--engine", "openai", "--url", &url];
    desk.skyline(&arguments).assert().code(3).stderr(contains("the prefix cache of `openai` cannot be emptied"));
    let arguments = ["bench", "quick.toml", "--no-calibration", "--reset-cache", "--engine", "sglang", "--url", &url];
    desk.skyline(&arguments).assert().code(3).stderr(contains("/flush_cache answers 404"));
    assert!(desk.runs().is_empty(), "nothing was flown");
    let arguments = ["bench", "quick.toml", "--no-calibration", "--cache", "cold", "--engine", "sglang", "--url", &url];
    let noted = desk.skyline(&arguments).arg("--allow-invalid").assert().code(0);
    noted.stderr(contains("not emptied: /flush_cache answers 404").and(contains("the texts of this run are new")));
}

/// A mock that serves the adapter `sql`, first come, first served.
fn mock() -> MockServer {
    let backend = Backend::preset().unwrap();
    let options = MockOptions {
        adapters: vec!["sql".to_owned()],
        prompt_details: PromptDetails::Shown,
        ..MockOptions::default()
    };
    MockServer::start(backend, options, "127.0.0.1:0".parse().unwrap()).unwrap()
}
