//! Runs that are not VALID: their exit code, a reason with figure, bar and cure, and `--allow-invalid`.

use std::fmt::Write as _;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::json;

use crate::support::{self, Desk, answer, control, serve};

fn outcomes(desk: &Desk, rule: &str) -> Vec<String> {
    desk.checks(rule).iter().map(|check| check["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn ten_chats_a_second_overload_an_a10g_and_three_do_not() {
    let desk = Desk::new();
    let overloaded = ["simulate", "short_chat", "60", "--hardware", "a10g"];
    desk.skyline(&[&overloaded[..], &["--out", "results"]].concat())
        .assert()
        .code(1)
        .stdout(contains("OVERLOADED").and(contains("did not keep up")).and(contains("lower the rate")));
    let verdict = &desk.summary()["verdict"];
    assert_eq!((&verdict["outcome"], &verdict["valid"]), (&json!("overloaded"), &json!(true)));
    // Met objectives and --allow-invalid do not make it keep up.
    let run = desk.run();
    desk.skyline(&["report", run.to_str().unwrap(), "--allow-invalid"])
        .args(["--objective", "p50 ttft < 1h"])
        .assert()
        .code(1)
        .stdout(contains("OVERLOADED"));
    desk.skyline(&["report", run.to_str().unwrap(), "--format", "junit=-"])
        .assert()
        .code(1)
        .stdout(contains("<failure type=\"overloaded\"").or(contains("type=\"overloaded\"")));
    desk.skyline(&["simulate", "short_chat", "60", "--rate", "3"])
        .assert()
        .code(0)
        .stdout(predicate::str::starts_with("VALID").or(contains("\nVALID")));
}

#[test]
fn a_cap_that_lets_too_few_through_is_an_overload() {
    let desk = Desk::new();
    // On a busy machine the client may be late too: that does not make it keep up.
    let capped = [
        "bench",
        "quick.toml",
        "--hardware=a10g",
        "--max-concurrency=1",
        "--drain=60s",
        "--no-calibration",
        "--allow-invalid",
    ];
    desk.skyline(&capped).assert().code(1).stdout(contains("did not keep up"));
    assert_eq!(outcomes(&desk, "steady_state")[0], "failed");
    assert!(support::outcomes(&desk.summary()).contains(&"overloaded"), "{}", desk.summary()["verdict"]);
}

/// A chat stream whose chunks count their own tokens up to `counted`, and whose usage says `usage`.
fn counting(counted: u64, usage: u64) -> String {
    let mut events = String::new();
    for token in 1..=counted {
        let finish = if token == counted { "\"length\"" } else { "null" };
        let choice = format!(r#"{{"index":0,"delta":{{"content":" w"}},"finish_reason":{finish}}}"#);
        let so_far = format!(r#"{{"prompt_tokens":7,"completion_tokens":{token}}}"#);
        let _ = write!(events, "data: {{\"choices\":[{choice}],\"usage\":{so_far}}}\n\n");
    }
    let usage = format!(r#"{{"prompt_tokens":7,"completion_tokens":{usage}}}"#);
    let _ = write!(events, "data: {{\"choices\":[],\"usage\":{usage}}}\n\ndata: [DONE]\n\n");
    answer("200 OK", "text/event-stream", &events)
}

#[test]
fn tokens_that_went_missing_on_the_way_are_told() {
    for (usage, outcome) in [(8, "passed"), (10, "failed")] {
        let address = serve(move |seen| control(seen).unwrap_or_else(|| counting(8, usage)));
        let url = format!("http://{address}");
        let desk = Desk::new();
        let bench = desk
            .skyline(&["bench", "quick.toml", "--requests", "5", "--engine", "vllm", "--no-calibration", "--url", &url])
            .assert();
        assert_eq!(outcomes(&desk, "token_identity"), [outcome]);
        if outcome == "failed" {
            bench.code(3).stdout(contains("in 5 of 5 answers"));
        }
    }
}

#[test]
fn a_server_that_others_used_meanwhile_is_told() {
    // The counter rises by 1,000 tokens while five answers of eight were sent here, and a few more until the last end.
    let looks = std::sync::atomic::AtomicUsize::new(0);
    let address = serve(move |seen| {
        if seen.path == "/metrics" {
            let look = looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let count = [100, 100, 1_100, 1_100][look.min(3)];
            let page = format!("vllm:generation_tokens_total{{engine=\"0\"}} {count}.0\n");
            return answer("200 OK", "text/plain; version=0.0.4", &page);
        }
        control(seen).unwrap_or_else(|| counting(8, 8))
    });
    let desk = Desk::new();
    let url = format!("http://{address}");
    desk.skyline(&[
        "bench",
        "quick.toml",
        "--requests",
        "5",
        "--engine",
        "vllm",
        "--no-metrics",
        "--no-calibration",
        "--url",
        &url,
    ])
    .assert()
    .code(3)
    .stdout(contains("the server counted 1,000 answer tokens").and(contains("no other client used this server")));
}

#[test]
fn a_log_that_lost_a_record_is_told() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--out", "results"]).assert().code(0);
    assert_eq!(outcomes(&desk, "conservation"), ["passed"]);
    let (run, log) = (desk.run(), desk.run().join("run.jsonl"));
    let text = std::fs::read_to_string(&log).unwrap();
    let without = text.lines().enumerate().filter(|(number, _)| *number != 7).map(|(_, line)| format!("{line}\n"));
    std::fs::write(&log, without.collect::<String>()).unwrap();
    desk.skyline(&["report", run.to_str().unwrap()])
        .assert()
        .code(3)
        .stdout(contains("1 line is missing").and(contains("1 of 39 planned requests left no record")));
}

#[test]
fn a_log_that_is_not_that_of_its_plan_is_refused() {
    let desk = Desk::new();
    desk.skyline(&["simulate", "quick.toml", "--out", "results"]).assert().code(0);
    let (run, log) = (desk.run(), desk.run().join("run.jsonl"));
    let run = run.to_str().unwrap();
    desk.skyline(&["report", run]).assert().code(0);
    Desk::rewrite(&log, "\"seed\":", "\"seed\":1");
    let said = contains("the log is not that of its plan: the header has the hash");
    desk.skyline(&["report", run]).assert().code(3).stdout(said.and(contains("limit: no difference")));
}
