//! Token counts: of answers that the server does not count, and of what it adds to prompts.

use std::collections::HashMap;
use std::net::SocketAddr;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use skyline::mock::{AnswerWords, Backend, MockOptions, MockServer, StopLength};
use skyline::record::{Phase, RunLog};
use skyline::simulator::Delay;

use crate::quick::QUICK;
use crate::support::{Desk, control, serve, stream, stream_after};

/// A tokenizer to which every word is one token, as to the mock.
pub(crate) const WORDS: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": { "type": "WhitespaceSplit" }, "post_processor": null, "decoder": null,
  "model": { "type": "WordLevel", "vocab": { "[UNK]": 0 }, "unk_token": "[UNK]" }
}"#;

/// A mock with these faults that says the prompt's own words.
fn mock(faults: &[&str]) -> (MockServer, String) {
    mock_that_stops(faults, StopLength::default())
}

/// A mock whose answers end at such lengths where none is forced.
fn mock_that_stops(faults: &[&str], stop_length: StopLength) -> (MockServer, String) {
    let options = MockOptions {
        stop_length,
        faults: faults.iter().map(|fault| format!("{fault}=1").parse().unwrap()).collect(),
        words: AnswerWords::Echo,
        ..MockOptions::default()
    };
    let backend = Backend::fixed(64, Delay::Constant(0.002), Delay::Constant(0.0005), 1);
    let mock = MockServer::start(backend, options, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let url = format!("http://{}", mock.address());
    (mock, url)
}

/// Answers of 3 to 40 tokens, and the tokenizer beside the workload.
fn desk() -> Desk {
    let desk = Desk::new();
    let lengths = QUICK.replace(
        r#"output_tokens = { kind = "constant", value = 8 }"#,
        r#"output_tokens = { kind = "uniform", min = 3, max = 40 }"#,
    );
    desk.file("lengths.toml", &lengths);
    desk.file("words.json", WORDS);
    desk
}

/// Answer tokens that the mock's own log tells, by the end of the request's name.
fn truth(url: &str) -> HashMap<String, u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let page = runtime.block_on(async {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let host = url.strip_prefix("http://").unwrap();
        let mut socket = tokio::net::TcpStream::connect(host).await.unwrap();
        let head = format!("GET /mock/truth HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut page = String::new();
        socket.read_to_string(&mut page).await.unwrap();
        page
    });
    let records = page.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let report = records.filter_map(|record| {
        let id = record["id"].as_str()?;
        Some((id[id.len() - 12..].to_owned(), record["answer_tokens"].as_u64()?))
    });
    report.collect()
}

/// Holds every measured request of the log on disk against the mock's own, and tells how many there are.
fn told_truly(desk: &Desk, truth: &HashMap<String, u64>, source: &str) -> usize {
    let log = RunLog::read(&desk.run()).unwrap();
    let measured: Vec<_> = log.records.iter().filter(|record| record.phase == Phase::Measured).collect();
    for record in &measured {
        let report = truth[&format!("{:012x}", record.index)];
        assert_eq!(record.output_tokens, report, "request {}", record.index);
        assert_eq!(json!(record.output_tokens_source), json!(source));
    }
    measured.len()
}

#[test]
fn a_tokenizer_counts_answers_that_the_server_does_not() {
    for faults in [&["no_usage", "multi_token"][..], &["no_usage", "multi_token", "reasoning"]] {
        let (_mock, url) = mock(faults);
        let desk = desk();
        let arguments = ["bench", "lengths.toml", "--url", &url, "--tokenizer", "words.json"];
        let shown =
            desk.skyline(&arguments).args(["--engine", "vllm", "--no-calibration", "--allow-invalid"]).assert().code(0);
        shown.stdout(contains("source: tokenizer, after the run (39)"));
        assert_eq!(told_truly(&desk, &truth(&url), "tokenizer"), 39);
        let tokens = &desk.summary()["tokens"];
        assert_eq!((&tokens["from_tokenizer"], &tokens["output"]["relative_error"]), (&json!(39), &json!(0.0)));
        // What is stored gives the same report again.
        let run = desk.run();
        let arguments = ["report", run.to_str().unwrap(), "--json", "--allow-invalid"];
        let again = desk.skyline(&arguments).assert().code(0);
        let again: Value = serde_json::from_slice(&again.get_output().stdout).unwrap();
        assert_eq!(again["tokens"], *tokens);
        assert_eq!(again["latency"], desk.summary()["latency"]);
    }
}

#[test]
fn what_the_server_counts_is_not_counted_again() {
    let (_mock, url) = mock(&[]);
    let desk = desk();
    let arguments = ["bench", "lengths.toml", "--url", &url, "--tokenizer", "words.json"];
    let shown =
        desk.skyline(&arguments).args(["--engine", "vllm", "--no-calibration", "--allow-invalid"]).assert().code(0);
    shown.stdout(contains("source: usage (39)").and(contains("every prompt exact to the token")));
    assert_eq!(told_truly(&desk, &truth(&url), "usage"), 39);
    assert!(desk.lines("counted").is_empty());
}

#[test]
fn answers_end_by_themselves_and_two_runs_of_them_are_compared_by_their_lengths_first() {
    let [short, long] = [desk(), desk()];
    let run = |desk: &Desk, median: f64, more: &[&str]| {
        let (_mock, url) = mock_that_stops(&[], StopLength { median, sigma: 0.0 });
        let arguments = ["bench", "quick.toml", "--url", &url, "--output-tokens", "12", "--length", "natural"];
        desk.skyline(&arguments).args(["--engine", "vllm", "--no-calibration", "--allow-invalid"]).args(more).assert()
    };
    let shown = run(&short, 5.0, &[]).code(0).stderr(contains("does not force").not());
    shown.stdout(contains("end by themselves: p50 5, p99 5; 0 % cut at the limit"));
    let tokens = &short.summary()["tokens"];
    assert_eq!((&tokens["output"]["requests"], &tokens["natural"]["lengths"]["max"]), (&json!(0), &json!(5)));
    let findings = short.summary()["findings"].clone();
    assert!(!findings.as_array().unwrap().iter().any(|finding| finding["kind"] == "output_length"), "{findings}");
    run(&long, 50.0, &[]).code(0).stdout(contains("p50 12, p99 12; 100 % cut at the limit"));
    let [one, other] = [short.run(), long.run()];
    short
        .skyline(&["compare", one.to_str().unwrap(), other.to_str().unwrap(), "--allow-invalid"])
        .assert()
        .code(0)
        .stdout(contains("confounded: answers end by themselves and are 140 % longer on"));
    let forcing = ["--extra-body", r#"{"ignore_eos": true}"#];
    run(&long, 5.0, &forcing).code(2).stderr(contains("has `ignore_eos`").and(contains("--length forced")));
}

#[test]
fn without_a_tokenizer_the_advice_names_it() {
    let (_mock, url) = mock(&["no_usage"]);
    let desk = desk();
    let arguments = ["bench", "lengths.toml", "--url", &url, "--engine", "openai", "--allow-invalid"];
    desk.skyline(&arguments)
        .assert()
        .code(0)
        .stdout(contains("are estimated as one token a chunk").and(contains("--tokenizer")));
}

#[test]
fn a_chat_template_is_learned_and_prompts_are_exact_beside_it() {
    // One token for each word of the prompt and eleven more; the odd prompt is told a token too long.
    let address = serve(|seen| {
        control(seen).unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let words = body["messages"][0]["content"].as_str().unwrap().split_whitespace().count();
            let wrong = usize::from(seen.generation == 9);
            let tokens = body["max_completion_tokens"].as_u64().unwrap() as usize;
            stream_after(words + 11 + wrong, tokens)
        })
    });
    let desk = desk();
    let url = format!("http://{address}");
    let arguments = ["bench", "lengths.toml", "--url", &url, "--tokenizer", "words.json"];
    let shown =
        desk.skyline(&arguments).args(["--engine", "openai", "--no-calibration", "--allow-invalid"]).assert().code(0);
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let exactness = "added by the server (11 a prompt)";
    assert!(words.contains(exactness), "{shown}");
    let exactness = "38 of 39 prompts exact, the others off by at most 1";
    assert!(words.contains(exactness), "{shown}");
    assert_eq!(desk.lines("header")[0]["prompts"]["template_tokens"], json!(11));
    let tokens = &desk.summary()["tokens"];
    assert_eq!(tokens["made"], json!({ "requests": 39, "exact": 38, "most_off": 1 }));
    let findings = desk.summary()["findings"].clone();
    let about = |kind: &str| findings.as_array().unwrap().iter().any(|finding| finding["kind"] == kind);
    assert!(!about("prompt_length"), "eleven of twenty tokens are expected: {findings}");
}

#[test]
fn a_tokenizer_that_counts_more_than_the_server_is_doubted() {
    // `stream` tells 7 prompt tokens; the test request's text alone has more letters than that.
    let address = serve(|seen| control(seen).unwrap_or_else(|| stream(4)));
    let desk = desk();
    let letters = WORDS.replace(
        r#"{ "type": "WhitespaceSplit" }"#,
        r#"{ "type": "Split", "pattern": { "Regex": "." }, "behavior": "Isolated", "invert": false }"#,
    );
    desk.file("letters.json", &letters);
    let url = format!("http://{address}");
    let arguments = ["bench", "quick.toml", "--url", &url, "--tokenizer", "letters.json"];
    desk.skyline(&arguments)
        .args(["--engine", "openai", "--no-calibration", "--allow-invalid"])
        .assert()
        .stderr(contains("is this the served model's tokenizer?"));
    assert_eq!(desk.lines("header")[0]["prompts"].get("template_tokens"), None);
}
