//! Every fault as it looks on the wire.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::json;
use skyline::mock::{AnswerWords, Fault, FaultChance, MockOptions, MockServer};

use super::support::{Close, Seen, ask, chat, chat_with, get, in_one_piece, quick, records, send};

fn server() -> MockServer {
    quick(MockOptions::default())
}

fn seen(fault: &str) -> Seen {
    chat_with(&server(), fault, &chat(8))
}

#[test]
fn statuses() {
    for status in [400, 401, 404, 429, 500, 503] {
        let seen = seen(&format!("http_{status}"));
        assert_eq!(seen.status, status);
        assert!(!seen.json()["error"].is_null());
        assert_eq!(seen.head.contains("retry-after: 1"), matches!(status, 429 | 503), "{}", seen.head);
    }
}

#[test]
fn connections_that_break() {
    let before = seen("reset_before_headers");
    assert_eq!((before.close, before.bytes), (Close::Reset, 0));
    // A reset may overtake what a busy client has not read yet.
    let whole = (0..9).any(|_| {
        let mid = seen("reset_mid_stream");
        assert!(mid.close == Close::Reset && mid.events().len() <= 5);
        mid.events().len() == 5
    });
    assert!(whole, "the role and half of eight tokens");
    let refusing = quick(MockOptions {
        faults: vec![FaultChance { fault: Fault::Refuse, probability: 1.0 }],
        ..MockOptions::default()
    });
    let refused = get(&refusing, "/health");
    assert_eq!((refused.close, refused.bytes), (Close::Reset, 0));
}

#[test]
fn streams_that_break_off() {
    let truncated = seen("truncated");
    assert_eq!((truncated.close, truncated.events().len()), (Close::Clean, 5));
    assert!(!truncated.body.contains("[DONE]") && !truncated.body.contains("\"length\""));
    let error = seen("error_mid_stream");
    assert_eq!(error.events()[5]["error"]["code"], 500);
    assert!(error.body.ends_with("data: [DONE]\n\n"));
    let hang = seen("hang");
    assert_eq!((hang.close, hang.events().len()), (Close::Silence, 5));
}

#[test]
fn streams_that_are_wrong_or_lack_something() {
    let malformed = seen("malformed_json");
    assert!(malformed.body.contains("\"chat.compl\n\ndata: "), "{}", malformed.body);
    assert_eq!(malformed.events().len(), 10, "all that belongs there comes too");
    let silent = seen("no_usage");
    assert!(!silent.body.contains("usage") && silent.body.contains("[DONE]"));
    let endless = seen("no_done");
    assert!(endless.body.contains("\"usage\"") && !endless.body.contains("[DONE]"));
}

#[test]
fn delays() {
    let server = server();
    let timed = |fault: &str| {
        let began = Instant::now();
        assert_eq!(chat_with(&server, fault, &chat(8)).text().split_whitespace().count(), 8);
        began.elapsed()
    };
    assert!(timed("stall=300ms") >= Duration::from_millis(300));
    assert!(timed("slow_start=300ms") >= Duration::from_millis(300));
}

#[test]
fn framing() {
    assert!(seen("crlf").body.ends_with("data: [DONE]\r\n\r\n"));
    assert_eq!(seen("comments").body.matches(": ping\n\ndata: ").count(), 11);
    let split = seen("split_utf8");
    let torn = split.chunks.iter().filter(|chunk| std::str::from_utf8(chunk).is_err()).count();
    assert_eq!(torn, 16, "{torn} writes end or begin inside a character");
    assert!(split.text().starts_with(" café naïve 東京"), "{}", split.text());
    // The role and the first token, seven tokens, of which the last comes with the usage; by threes: 3, 3, 2.
    assert_eq!((seen("no_done").chunks.len(), seen("coalesced").chunks.len()), (8, 3));
    assert_eq!(seen("gathered").chunks.len(), 1);
}

#[test]
fn chunks_of_other_kinds() {
    let server = quick(MockOptions::default());
    let early = chat_with(&server, "role_early", &chat(2));
    let first = String::from_utf8_lossy(&early.chunks[0]);
    assert!(first.contains("assistant") && !first.contains(" the"), "the role comes alone: {first}");
    let multi = chat_with(&server, "multi_token", &chat(8));
    assert_eq!(multi.events().len(), 4, "a role, two chunks of four, the usage");
    assert_eq!(multi.text().split_whitespace().count(), 8);
    let thinking = chat_with(&server, "reasoning", &chat(8));
    let reasoning = thinking.events().iter().filter(|e| e["choices"][0]["delta"]["reasoning"].is_string()).count();
    assert_eq!((reasoning, thinking.text().split_whitespace().count()), (4, 4));
    let calls = chat_with(&server, "tool_calls", &chat(3)).events();
    let call = |event: usize| &calls[event]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call(1)["function"]["name"], "look_up");
    assert_eq!(call(2)["function"], json!({ "arguments": " quick" }));
}

#[test]
fn answers_in_one_piece_break_too() {
    let server = server();
    let body = in_one_piece(chat(8));
    let ask = |fault: &str| chat_with(&server, fault, &body);
    assert_eq!(ask("reset_mid_stream").close, Close::Reset);
    assert!(serde_json::from_str::<serde_json::Value>(&ask("truncated").body).is_err());
    assert_eq!(ask("error_mid_stream").status, 500);
    assert!(ask("no_usage").json()["usage"].is_null());
    assert!(ask("reasoning").json()["choices"][0]["message"]["reasoning"].is_string());
    assert!(ask("tool_calls").json()["choices"][0]["message"]["tool_calls"][0]["id"].is_string());
}

#[test]
fn chances_are_seeded_and_a_wrong_header_is_told() {
    let statuses = |seed| {
        let faults = vec!["http_503=0.5".parse().unwrap()];
        let server = quick(MockOptions { faults, seed, ..MockOptions::default() });
        let body = chat(1).to_string();
        (0..16).map(|_| ask(&server, "POST", "/v1/chat/completions", "", &body).status).collect::<Vec<_>>()
    };
    let first = statuses(1);
    assert!(first.contains(&200) && first.contains(&503));
    assert_eq!(first, statuses(1));
    assert_ne!(first, statuses(2));
    let wrong = seen("explode");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("there is no fault `explode`; known: http_400"), "{}", wrong.body);
}

#[test]
fn what_was_done_on_purpose_is_in_the_truth() {
    let server = server();
    chat_with(&server, "truncated, crlf", &chat(8));
    let record = &records(&server, 1)[0];
    assert_eq!((&record["faults"], &record["end"]), (&json!(["truncated", "crlf"]), &json!("broken_off")));
    assert_eq!(record["answer_tokens"], 4);
}

#[test]
fn a_stream_of_one_token_has_its_role_before_it_breaks() {
    let server = server();
    let truncated = chat_with(&server, "truncated", &chat(1)).events();
    assert_eq!(truncated.len(), 1);
    assert_eq!(truncated[0]["choices"][0]["delta"]["role"], "assistant");
}

#[test]
fn events_without_accents_are_split_too() {
    let server = quick(MockOptions { words: AnswerWords::Echo, ..MockOptions::default() });
    let split = chat_with(&server, "split_utf8", &chat(4));
    assert_eq!(split.text(), " tell me a story");
    assert_eq!(split.chunks.len(), 8, "four tokens in two halves each");
}

/// Tokens that wait for others to make a chunk with have not been written, whatever another answer writes.
#[test]
fn tokens_that_are_held_back_are_not_yet_written() {
    let server = quick(MockOptions::default());
    let mut body = chat(6);
    body["n"] = 2.into();
    let mut socket =
        send(&server, "POST", "/v1/chat/completions", "x-skyline-fault: multi_token, hang\r\n", &body.to_string());
    let _ = socket.set_read_timeout(Some(Duration::from_millis(300)));
    let mut seen = Vec::new();
    let _ = socket.read_to_end(&mut seen);
    drop(socket);
    let report = String::from_utf8_lossy(&seen).matches("\"content\":\" the quick answer to\"").count();
    let record = &records(&server, 1)[0];
    assert_eq!(record["answer_tokens"], 4 * report, "{record}");
}
