//! Answers of results for tests: read as those of a run are, whole and cut anywhere.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::HeaderMap;

use super::super::protocol::Protocol;
use crate::clock::Timestamp;
use crate::engine::answer::AnswerEnd;
use crate::engine::answer_limits::{AnswerLimits, AnswerMemory, HeldMemory};
use crate::engine::secrets::Secrets;
use crate::engine::stream::ResponseReader;
use crate::engine::target::{AnswerForm, Target};
use crate::engine::transport::{ArrivalStamp, BodyEnd};
use crate::generator::Prompt;
use crate::record::EngineKind;

fn target(protocol: &'static Protocol, extra_body: &str) -> Target {
    let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Vllm);
    (target.endpoint, target.form) = (protocol, AnswerForm::Whole);
    if !extra_body.is_empty() {
        target.extra_body.0 = serde_json::from_str(extra_body).unwrap();
    }
    target
}

fn texts(size: usize) -> Prompt {
    Prompt::Inputs { query: Some("q".to_owned()), texts: vec!["a text".to_owned(); size] }
}

fn read(protocol: &'static Protocol, (size, extra_body): (usize, &str), body: &[u8], close: BodyEnd) -> AnswerEnd {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let expected = target(protocol, extra_body).expected_items(&texts(size));
    let budget = AnswerLimits::default().of(Some(0)).expecting(expected);
    let memory = HeldMemory::none(Arc::new(AnswerMemory::new(1 << 20)));
    let reader = ResponseReader::new(StatusCode::OK, &headers, AnswerForm::Whole, Secrets::default());
    let mut reader = reader.beside(Arc::default(), protocol.answers).within(budget, 1_000, memory);
    let mut events = VecDeque::new();
    let arrival = |read| ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read };
    for (place, piece) in body.chunks(7).enumerate() {
        if let Some(end) = reader.bytes(piece, arrival(place as u64), &mut events) {
            return end;
        }
    }
    let end = reader.end(close, arrival(body.len() as u64), &mut events);
    assert!(events.is_empty(), "no result is a token");
    end
}

/// Prompt tokens of an answer, where it counts them, or why it is none.
pub(super) fn answer(protocol: &'static Protocol, asked: (usize, &str), body: &str) -> Result<Option<u64>, String> {
    let end = read(protocol, asked, body.as_bytes(), BodyEnd::Clean);
    assert_eq!(end.whole_answer.is_some(), end.result.is_ok());
    end.result.map(|()| end.usage.and_then(|usage| usage.prompt())).map_err(|failure| failure.to_string())
}

/// Checks that no part of an answer is complete, however it ends.
pub(super) fn cut_anywhere(protocol: &'static Protocol, size: usize, body: &str) {
    for to in 0..body.len() {
        for close in [BodyEnd::Clean, BodyEnd::Broken] {
            let end = read(protocol, (size, ""), &body.as_bytes()[..to], close);
            assert!(end.result.is_err() && end.whole_answer.is_none(), "{to} of {body}");
        }
    }
}

/// Bodies of one text, of token ids, and of two texts.
pub(super) fn bodies(protocol: &'static Protocol) -> [String; 3] {
    let several = Prompt::Inputs { query: Some("q".to_owned()), texts: vec!["c".to_owned(), "d".to_owned()] };
    [Prompt::Text("a \"b\"".to_owned()), Prompt::TokenIds(vec![1, 20]), several].map(|prompt| {
        let mut value = Vec::new();
        (protocol.write_prompt)(&mut value, &prompt);
        format!("{{\"{}\":{}}}", protocol.prompt_field, String::from_utf8(value).unwrap())
    })
}

/// Answers that vLLM 0.32 gave to two inputs, with the prompt tokens that it counted.
#[test]
fn answers_of_vllm_are_read_whole_and_no_part_of_them_is_one() {
    let vectors = include_str!("../../../../tests/data/endpoints/vllm_embeddings.txt");
    let encoded = include_str!("../../../../tests/data/endpoints/vllm_embeddings_base64.txt");
    let ranks = include_str!("../../../../tests/data/endpoints/vllm_rerank.txt");
    let scores = include_str!("../../../../tests/data/endpoints/vllm_score.txt");
    let as_text = r#"{"encoding_format":"base64"}"#;
    for (name, extra_body, body, tokens) in [
        ("embeddings", "", vectors, 11),
        ("embeddings", as_text, encoded, 11),
        ("rerank", "", ranks, 16),
        ("score", "", scores, 16),
    ] {
        let protocol = Protocol::named(name).unwrap();
        assert_eq!(answer(protocol, (2, extra_body), body), Ok(Some(tokens)), "{name}");
        let other = answer(protocol, (3, extra_body), body).unwrap_err();
        assert!(other.contains("2 results, and 3 were asked for"), "{name}: {other}");
        if body.len() < 1_000 {
            cut_anywhere(protocol, 2, body);
        }
    }
    assert!(answer(Protocol::named("embeddings").unwrap(), (2, as_text), vectors).is_err());
    let odd = encoded.replacen("SWeUO2Gl", "SWeU", 1);
    assert!(answer(Protocol::named("embeddings").unwrap(), (2, as_text), &odd).is_err());
    let endless = vectors.replacen("0.004528914112597704", "1e999", 1);
    assert!(answer(Protocol::named("embeddings").unwrap(), (2, ""), &endless).is_err());
}
