//! Requests as clients write them, and errors as vLLM words them.

use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::prompt::PromptTokens;
use super::read::{Request, ServedModels, UsageIn};
use crate::engine::{AnswerForm, CHAT, COMPLETIONS, Protocol};
use crate::mock::refusal::Refusal;

const SERVED: ServedModels<'static> = ServedModels { model: "tiny-llama", adapters: &[], max_model_len: 4096 };

fn read(endpoint: &Protocol, body: &str) -> Result<Request, Refusal> {
    Request::read(endpoint, body.as_bytes(), SERVED)
}

/// Compares bodies and answers with those that a live vLLM 0.32 gave. The prompt's own tokens are not compared.
#[tokio::test]
async fn refusals_are_vllms_word_for_word() {
    for name in [
        "err_bad_model_stream",
        "err_malformed_json",
        "err_max_tokens_0_compl",
        "err_max_tokens_0_stream",
        "err_maxtokens_over_ctx",
        "err_missing_messages",
        "err_wrong_type",
    ] {
        let path = format!("{}/tests/data/transcripts/vllm/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let transcript = std::fs::read_to_string(path).unwrap();
        let line = |start: &str| {
            transcript.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{name}: {start}"))
        };
        let body = line("### body: ").trim_start_matches("### body: ");
        let endpoint = if line("### POST").contains("chat") { &CHAT } else { &COMPLETIONS };
        let theirs: Value = serde_json::from_str(line("{\"error\"")).unwrap();
        let response = read(endpoint, body).unwrap_err().into_response();
        let status = response.status().as_u16();
        let ours = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<Value>(&ours).unwrap(), theirs, "{name}");
        assert_eq!(json!(status), theirs["error"]["code"], "{name}");
    }
}

#[test]
fn prompts_come_in_every_shape() {
    let prompts = |prompt: Value| {
        let request = read(&COMPLETIONS, &json!({ "prompt": prompt }).to_string()).unwrap();
        request.prompts.iter().map(PromptTokens::tokens).collect::<Vec<_>>()
    };
    assert_eq!(prompts(json!("a b c")), [3]);
    assert_eq!(prompts(json!(["a", "b c"])), [1, 2]);
    assert_eq!(prompts(json!([1, 2, 3, 4])), [4]);
    assert_eq!(prompts(json!([[1, 2], [3]])), [2, 1]);
}

#[test]
fn the_newer_limit_wins_and_defaults_are_vllms() {
    let chat = |more: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "a b c d" }] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&CHAT, &body.to_string()).unwrap()
    };
    assert_eq!(chat(json!({ "max_tokens": 5, "max_completion_tokens": 9 })).max_tokens, 9);
    assert_eq!(chat(json!({})).max_tokens, 4092);
    let plain = chat(json!({ "stream": true, "stream_options": null }));
    assert_eq!((plain.form, plain.usage_in), (AnswerForm::Streamed, UsageIn::None));
    assert_eq!(read(&COMPLETIONS, r#"{"prompt":"a"}"#).unwrap().max_tokens, 16);
}

#[test]
fn a_priority_is_taken_whatever_the_scheduling_policy() {
    for (said, priority) in [("-1", -1), ("null", 0), ("9000000000000000000", i32::MAX)] {
        let body = format!(r#"{{"prompt":"a","priority":{said}}}"#);
        assert_eq!(read(&COMPLETIONS, &body).unwrap().priority, priority);
    }
}

#[test]
fn what_vllm_refuses_is_refused() {
    let refused = |more: Value| {
        let mut body = json!({ "prompt": "a b" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{:?}", read(&COMPLETIONS, &body.to_string()).unwrap_err())
    };
    for (more, says) in [
        (json!({ "stream_options": { "include_usage": true } }), "only be defined when `stream=True`"),
        (json!({ "min_tokens": 9, "max_tokens": 8 }), "less than or equal to max_tokens=8, got 9."),
        (json!({ "min_tokens": -1 }), "greater than or equal to 0, got -1."),
        (json!({ "stop": ["x", ""] }), "stop cannot contain an empty string."),
        (json!({ "stop": 5 }), "valid string or list of strings"),
        (json!({ "n": 0 }), "n must be between 1 and 128, got 0."),
        (json!({ "prompt": [] }), "at least one token"),
        (json!({ "prompt": ["a", ""] }), "at least one token"),
        (json!({ "prompt": 5 }), "valid string"),
        (json!({ "max_tokens": 1.5 }), "fractional part"),
        (json!({ "max_tokens": "x'y" }), "'input': \\\"x'y\\\""),
    ] {
        let words = refused(more);
        assert!(words.contains(says), "{says}: {words}");
    }
    let long = refused(json!({ "max_tokens": "z".repeat(1_000) }));
    assert!(long.contains("zz...[truncated]'") && long.len() < 800, "{long}");
}
