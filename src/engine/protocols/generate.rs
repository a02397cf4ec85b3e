//! SGLang's own endpoint: `text`, answered by documents each of which has the whole answer so far.

use super::prompt::content;
use super::protocol::Protocol;
use super::typed::{found, word};
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::generator::{Prompt, PromptNeed};
use crate::record::WorkKind;

/// `/generate`.
pub static GENERATE: Protocol = Protocol {
    name: "generate",
    path: "/generate",
    backend: "sglang-generate",
    prompt_field: "text",
    write_prompt: write,
    carries: &[PromptNeed::TokenIds],
    only: None,
    is_form: false,
    inputs: None,
    limits: &["max_new_tokens"],
    within: Some("sampling_params"),
    usual_tokens: Some(128),
    form: None,
    whole: None,
    template: None,
    asks_for_usage: false,
    forces: LengthForcing::IgnoreEos,
    lacks: &["model", "seed", "n", "best_of"],
    headers: &[],
    key_header: None,
    shape: None,
    work: WorkKind::Tokens,
    answers: &TEXT_SO_FAR,
};

/// The grammar of these answers.
static TEXT_SO_FAR: AnswerGrammar = AnswerGrammar {
    member,
    common: |_| None,
    events: &["", "message"],
    ends: &["[DONE]"],
    end_name: "[DONE]",
    text_member: "text",
    lists: false,
    pointers: None,
};

/// Writes a text, or the token ids beside it.
fn write(body: &mut Vec<u8>, prompt: &Prompt) {
    if matches!(prompt, Prompt::TokenIds(_)) {
        body.extend_from_slice(b"null,\"input_ids\":");
    }
    content(body, prompt);
}

fn member<'a>(document: &mut ChunkJson<'a>, members: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    match name {
        "text" => match value.string() {
            Some(text) => {
                let about = found(members, "meta_info").and_then(LooseValue::members).unwrap_or_default();
                let ids = found(members, "output_ids").and_then(LooseValue::parts).map(|ids| ids.len() as u64);
                let tokens = found(&about, "completion_tokens").and_then(LooseValue::count);
                // A server that sends only what is new counts all of it even so.
                document.marks.is_so_far = ids.is_none() || tokens.is_none() || ids == tokens;
                let ending = found(&about, "finish_reason");
                let reason = ending.and_then(LooseValue::members).unwrap_or_default();
                let finish = word(&reason, "type");
                if finish.as_deref() == Some("abort")
                    && let Some(words) = found(&reason, "message")
                {
                    document.note_error(words);
                }
                document.choices = Some(vec![Choice { text, finish, ..Choice::default() }]);
            }
            None => note(&mut document.unread, "text"),
        },
        "meta_info" => document.read_usage(value),
        "output_ids" | "index" => {}
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    use http::StatusCode;
    use http::header::HeaderMap;

    use super::*;
    use crate::clock::Timestamp;
    use crate::engine::answer::AnswerEvent;
    use crate::engine::captured_text::CaptureText;
    use crate::engine::secrets::Secrets;
    use crate::engine::stream::ResponseReader;
    use crate::engine::target::AnswerForm;
    use crate::engine::transport::{ArrivalStamp, BodyEnd};

    /// A document as SGLang writes it.
    fn document(text: &str, ids: usize, tokens: usize, finish: &str) -> String {
        let ids = vec!["7"; ids].join(",");
        let counts = format!(r#""prompt_tokens":4,"completion_tokens":{tokens},"cached_tokens":2"#);
        let about = format!(r#"{{"id":"a",{counts},"finish_reason":{finish}}}"#);
        format!(r#"data: {{"text":"{text}","output_ids":[{ids}],"meta_info":{about}}}"#) + "\n\n"
    }

    #[test]
    fn what_is_new_counts_whether_the_text_comes_whole_or_in_parts() {
        let length = r#"{"type":"length","length":4}"#;
        let whole = [("a", 1, 1), ("a b c", 3, 3), ("a b c", 3, 3), ("a b c d", 4, 4)];
        let parts = [("a", 1, 1), (" b c", 2, 3), ("", 0, 3), (" d", 1, 4)];
        for documents in [whole, parts] {
            let mut headers = HeaderMap::new();
            headers.insert("content-type", "text/event-stream".parse().unwrap());
            let reader = ResponseReader::new(StatusCode::OK, &headers, AnswerForm::Streamed, Secrets::default());
            let mut reader = reader.beside(Arc::default(), GENERATE.answers).capturing(CaptureText::Yes);
            let mut events = VecDeque::new();
            let arrival = |read| ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read };
            for (place, (text, ids, tokens)) in documents.into_iter().enumerate() {
                let finish = if place == 3 { length } else { "null" };
                let piece = document(text, ids, tokens, finish);
                assert!(reader.bytes(piece.as_bytes(), arrival(place as u64), &mut events).is_none());
            }
            reader.bytes(b"data: [DONE]\n\n", arrival(9), &mut events);
            let end = reader.end(BodyEnd::Clean, arrival(9), &mut events);
            assert_eq!(end.result, Ok(()), "{documents:?}");
            let tokens = |event: &AnswerEvent| match event {
                AnswerEvent::Chunk { tokens, .. } => *tokens,
                other => panic!("{other:?}"),
            };
            assert_eq!(events.iter().map(tokens).collect::<Vec<_>>(), [Some(1), Some(2), Some(1)], "{documents:?}");
            assert_eq!(end.captured.unwrap().read().content, "a b c d");
            let usage = end.usage.unwrap();
            assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens), (4, 4, Some(2)));
        }
    }

    #[test]
    fn a_long_answer_is_held_once() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "text/event-stream".parse().unwrap());
        let reader = ResponseReader::new(StatusCode::OK, &headers, AnswerForm::Streamed, Secrets::default());
        let mut reader = reader.beside(Arc::default(), GENERATE.answers).capturing(CaptureText::Yes);
        let arrival = |read| ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read };
        let (mut events, mut text) = (VecDeque::new(), String::new());
        let length = r#"{"type":"length","length":1500}"#;
        // 60 events of 25 tokens, each with all before it.
        for tokens in (25..=1_500).step_by(25) {
            text.push_str(&" a word of some length".repeat(100));
            let piece = document(&text, tokens, tokens, if tokens == 1_500 { length } else { "null" });
            assert!(reader.bytes(piece.as_bytes(), arrival(tokens as u64), &mut events).is_none(), "{tokens}");
        }
        let end = reader.end(BodyEnd::Clean, arrival(9_999), &mut events);
        assert_eq!(end.result, Ok(()));
        let captured = end.captured.unwrap();
        assert!(captured.held() < 2 * text.len(), "{} of {}", captured.held(), text.len());
        assert_eq!(captured.read().content, text);
        assert_eq!(events.len(), 60);
    }
}
