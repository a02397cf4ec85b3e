//! What the mock says of itself agrees with what a client saw.

use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};
use skyline::mock::{AnswerWords, Backend, MockOptions, MockServer};

use super::support::{ask, chat, chat_with, fixed, get, in_one_piece, metric, post, quick, records, send, start};

fn times(record: &Value, key: &str) -> Vec<u64> {
    record["writes"].as_array().unwrap().iter().map(|write| write[key].as_u64().unwrap()).collect()
}

#[test]
fn metrics_truth_and_client_add_up() {
    let server = start(Backend::preset().unwrap(), MockOptions::default());
    let mut body = chat(6);
    body["model"] = "llama-3.1-8b".into();
    let seen: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..5).map(|_| scope.spawn(|| post(&server, "/v1/chat/completions", &body))).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    let tokens: usize = seen.iter().map(|seen| seen.text().split_whitespace().count()).sum();
    assert_eq!(tokens, 30);
    let records = records(&server, 5);
    let report: u64 = records.iter().map(|record| record["answer_tokens"].as_u64().unwrap()).sum();
    assert_eq!(report, 30);
    for (name, value) in [
        ("generation_tokens_total", 30.0),
        ("prompt_tokens_total", 20.0),
        ("request_success_total", 5.0),
        ("time_to_first_token_seconds_count", 5.0),
        ("inter_token_latency_seconds_count", 25.0),
        ("request_generation_tokens_sum", 30.0),
        ("e2e_request_latency_seconds_count", 5.0),
        ("num_requests_running", 0.0),
        ("kv_cache_usage_perc", 0.0),
    ] {
        assert_eq!(metric(&server, name), value, "{name}");
    }
    // The histogram's sum is that of the due moments in the truth.
    let ttft: f64 = records
        .iter()
        .map(|record| (times(record, "due_ns")[0] - record["queued_ns"].as_u64().unwrap()) as f64 / 1e9)
        .sum();
    assert!((metric(&server, "time_to_first_token_seconds_sum") - ttft).abs() < 1e-6);
}

#[test]
fn due_moments_are_exact_and_writes_follow_them() {
    let server = fixed(0.01, 0.01, MockOptions::default());
    post(&server, "/v1/chat/completions", &chat(100));
    let record = &records(&server, 1)[0];
    let (due, done) = (times(record, "due_ns"), times(record, "done_ns"));
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 10_000_000), "{due:?}");
    assert_eq!(due[0], record["scheduled_ns"].as_u64().unwrap() + 10_000_000);
    let late: Vec<u64> = due.iter().zip(&done).map(|(due, done)| done.checked_sub(*due).unwrap()).collect();
    // Usually under 0.1 ms; loose, for debug builds on busy machines, which hold up some and not all. Sleeping gap by gap
    // would be late by 50 ms in the middle, and never be in time again.
    let least = late[50..].iter().min().unwrap();
    assert!(*least < 25_000_000, "late by {least} ns at least: {late:?}");
    let order = ["read_ns", "queued_ns", "scheduled_ns", "ended_ns"].map(|key| record[key].as_u64().unwrap());
    assert!(order.is_sorted(), "{order:?}");
}

fn running(server: &MockServer) -> f64 {
    metric(server, "num_requests_running")
}

/// Waits, for at most a minute, until nothing runs.
fn idle(server: &MockServer) -> bool {
    (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        running(server) == 0.0
    })
}

#[test]
fn a_client_that_goes_away_frees_its_blocks() {
    let server = start(Backend::preset().unwrap(), MockOptions::default());
    for streamed in [true, false] {
        let mut body = chat(1_000);
        body["model"] = "llama-3.1-8b".into();
        if !streamed {
            body = in_one_piece(body);
        }
        let mut socket = send(&server, "POST", "/v1/chat/completions", "", &body.to_string());
        if streamed {
            let _ = socket.read(&mut [0; 64]).unwrap();
        }
        assert!((0..6_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            running(&server) == 1.0
        }));
        assert!(metric(&server, "kv_cache_usage_perc") > 0.0);
        drop(socket);
        assert!(idle(&server), "still running");
        assert_eq!(metric(&server, "kv_cache_usage_perc"), 0.0);
    }
    let records = records(&server, 2);
    assert!(records.iter().all(|record| record["end"] == "disconnected"), "{records:?}");
    let text = get(&server, "/metrics").body;
    assert!(text.contains("finished_reason=\"abort\",model_name=\"llama-3.1-8b\"} 2.0"), "{text}");
}

#[test]
fn the_log_can_be_cleared_and_is_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.ndjson");
    let server = quick(MockOptions { truth: Some(path.clone()), ..MockOptions::default() });
    post(&server, "/v1/chat/completions", &chat(3));
    chat_with(&server, "http_500", &chat(3));
    let header: Value = serde_json::from_str(get(&server, "/mock/truth").body.lines().next().unwrap()).unwrap();
    assert!(header["header"]["clock_zero"].is_string() && header["header"]["dropped"] == 0);
    assert_eq!(records(&server, 2)[1]["status"], 500);
    let stats = get(&server, "/mock/stats").json();
    assert_eq!((&stats["requests"], &stats["finished"], &stats["refused"]), (&2.into(), &1.into(), &1.into()));
    assert!(stats["write_lateness_p99_us"].as_f64().unwrap() > 0.0);
    assert_eq!(ask(&server, "DELETE", "/mock/truth", "", "").status, 204);
    assert_eq!(get(&server, "/mock/truth").body.lines().count(), 1);
    let _ = server.stop();
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept.lines().count(), 3);
}

/// A client that reads slowly: bytes that no socket has taken are not written, and the answer has not ended.
#[test]
fn what_the_socket_has_not_taken_is_not_written() {
    let server = fixed(0.001, 0.0, MockOptions { words: AnswerWords::Echo, ..MockOptions::default() });
    // Some 30 MB, more than a socket's buffers hold.
    let body = json!({ "prompt": "z".repeat(1_500), "max_tokens": 20_000, "ignore_eos": true });
    let mut socket = send(&server, "POST", "/v1/completions", "", &body.to_string());
    let _ = socket.read(&mut [0; 64]).unwrap();
    drop(socket);
    let record = &records(&server, 1)[0];
    assert_eq!((&record["end"], &record["answer_tokens"]), (&"disconnected".into(), &0.into()));
}
