//! The bytes of a streamed answer as vLLM writes them, with usage in every chunk.

use std::fmt::Write as _;

/// Name of the model that is served.
pub(super) const MODEL: &str = "calibration";

/// Prompt tokens of every answer's usage.
const PROMPT_TOKENS: u32 = 12;

const HEAD: &str = "HTTP/1.1 200 OK\r\ndate: Sat, 21 Nov 2026 02:09:58 GMT\r\nserver: uvicorn\r\n\
    content-type: text/event-stream; charset=utf-8\r\nvary: Origin\r\ntransfer-encoding: chunked\r\n\r\n";

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerEvent {
    /// The role, without a token.
    Role,
    /// A token: its number from 1, and the number of tokens of the answer.
    Token(u32, u32),
    /// The usage of an answer of so many tokens.
    Usage(u32),
    /// The end.
    Done,
}

/// The head of the response.
pub(super) fn head(out: &mut Vec<u8>) {
    out.extend_from_slice(HEAD.as_bytes());
}

/// One event, as one chunk of the body; after [`ServerEvent::Done`] the body's end.
pub(super) fn event(out: &mut Vec<u8>, said: ServerEvent) {
    let event = format!("data: {}\n\n", document(said));
    out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    if said == ServerEvent::Done {
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

fn document(said: ServerEvent) -> String {
    let mut json = format!(
        "{{\"id\":\"chatcmpl-bbd988fc43792651\",\"object\":\"chat.completion.chunk\",\"created\":1795226999,\
         \"model\":\"{MODEL}\",\"choices\":["
    );
    let counts = |tokens| {
        let total = PROMPT_TOKENS + tokens;
        format!(
            "\"usage\":{{\"prompt_tokens\":{PROMPT_TOKENS},\"total_tokens\":{total},\"completion_tokens\":{tokens}"
        )
    };
    // Writing to a string cannot fail.
    let _ = match said {
        ServerEvent::Done => return "[DONE]".to_owned(),
        ServerEvent::Role => write!(
            json,
            "{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}},\"logprobs\":null,\
             \"finish_reason\":null}}],{},\"completion_tokens_details\":null}},\"prompt_token_ids\":null,\
             \"prompt_text\":null}}",
            counts(0)
        ),
        ServerEvent::Token(place, of) => write!(
            json,
            "{{\"index\":0,\"delta\":{{\"content\":\" token\"}},\"logprobs\":null,\"finish_reason\":{},\
             \"token_ids\":null}}],{},\"completion_tokens_details\":null}}}}",
            if place == of { "\"length\",\"stop_reason\":null" } else { "null" },
            counts(place)
        ),
        ServerEvent::Usage(tokens) => {
            write!(json, "],{}}},\"system_fingerprint\":\"vllm-0.32.0-81591537\"}}", counts(tokens))
        }
    };
    json
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The events of a stream captured from vLLM 0.32, its words and its model's name replaced by ours.
    fn captured() -> Vec<String> {
        let path = "tests/data/transcripts/vllm/chat_stream_continuous_usage.txt";
        let text =
            std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let ours = |event: &str| {
            let Ok(mut chunk) = serde_json::from_str::<Value>(event) else { return event.to_owned() };
            assert_eq!(chunk.to_string(), event, "no byte is lost in reading it");
            chunk["model"] = json!(MODEL);
            if let Some(word) = chunk.pointer_mut("/choices/0/delta/content").filter(|word| **word != "") {
                *word = json!(" token");
            }
            chunk.to_string()
        };
        events.map(ours).collect()
    }

    #[test]
    fn events_are_those_of_vllm() {
        let tokens = (1..=6).map(|place| ServerEvent::Token(place, 6));
        let said =
            [ServerEvent::Role].into_iter().chain(tokens).chain([ServerEvent::Usage(6), ServerEvent::Done]);
        assert_eq!(said.map(document).collect::<Vec<_>>(), captured());
    }

    #[test]
    fn an_event_is_a_chunk_of_its_own_length() {
        let mut bytes = Vec::new();
        event(&mut bytes, ServerEvent::Done);
        assert_eq!(String::from_utf8(bytes).unwrap(), "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    }
}
