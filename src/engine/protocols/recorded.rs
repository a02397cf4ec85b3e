//! Answers that vLLM 0.32 gave at these endpoints, read again, whole and cut anywhere.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::HeaderMap;

use super::protocol::Protocol;
use super::{MESSAGES, RESPONSES, TOKENS};
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent};
use crate::engine::captured_text::CaptureText;
use crate::engine::secrets::Secrets;
use crate::engine::stream::{ChunkText, ResponseReader};
use crate::engine::target::AnswerForm;
use crate::engine::transport::{ArrivalStamp, BodyEnd};
use crate::record::{FailureKind, FinishReason};

/// Contents of an answer, worked out by hand.
#[derive(Clone, Copy)]
struct Recorded {
    protocol: &'static Protocol,
    body: &'static [u8],
    form: AnswerForm,
    /// Begin and end of its text, or of the arguments of its call.
    text: [&'static str; 2],
    tool: Option<&'static str>,
    chunks: usize,
    /// Tokens of prompt and answer.
    usage: [u64; 2],
}

const RECORDED: [Recorded; 9] = [
    Recorded {
        protocol: &RESPONSES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_responses_stream.txt"),
        form: AnswerForm::Streamed,
        text: [" xl_subarray}( singular", "Quantaux439"],
        tool: None,
        chunks: 5,
        usage: [13, 12],
    },
    Recorded {
        protocol: &RESPONSES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_responses_plain.txt"),
        form: AnswerForm::Whole,
        text: [" xl_subarray}( singular", "Quantaux439"],
        tool: None,
        chunks: 0,
        usage: [13, 12],
    },
    Recorded {
        protocol: &RESPONSES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_responses_tools_stream.txt"),
        form: AnswerForm::Streamed,
        text: ["[\"ASES_area060bBh generate.", " nestedbBh(\""],
        tool: Some("weather"),
        chunks: 85,
        usage: [16, 150],
    },
    Recorded {
        protocol: &MESSAGES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_messages_stream.txt"),
        form: AnswerForm::Streamed,
        text: [" ddtype,\\\"#.isabs528 generally", "LINE suffix double"],
        tool: None,
        chunks: 12,
        usage: [12, 12],
    },
    Recorded {
        protocol: &MESSAGES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_messages_plain.txt"),
        form: AnswerForm::Whole,
        text: [" ddtype,\\\"#.isabs528 generally", "LINE suffix double"],
        tool: None,
        chunks: 0,
        usage: [12, 12],
    },
    Recorded {
        protocol: &MESSAGES,
        body: include_bytes!("../../../tests/data/endpoints/vllm_messages_tools_stream.txt"),
        form: AnswerForm::Streamed,
        text: ["\"\\refixarithre]]).", "}'' EXPRESSED"],
        tool: Some("weather"),
        chunks: 116,
        usage: [15, 150],
    },
    Recorded {
        protocol: &TOKENS,
        body: include_bytes!("../../../tests/data/endpoints/vllm_tokens_stream.txt"),
        form: AnswerForm::Streamed,
        text: ["14842", "1990"],
        tool: None,
        chunks: 6,
        usage: [4, 6],
    },
    Recorded {
        protocol: &TOKENS,
        body: include_bytes!("../../../tests/data/endpoints/vllm_tokens_last_usage_stream.txt"),
        form: AnswerForm::Streamed,
        text: ["14842", "1990"],
        tool: None,
        chunks: 6,
        usage: [4, 6],
    },
    Recorded {
        protocol: &TOKENS,
        body: include_bytes!("../../../tests/data/endpoints/vllm_tokens_plain.txt"),
        form: AnswerForm::Whole,
        text: ["14842,8861", "8634,1990"],
        tool: None,
        chunks: 0,
        usage: [4, 6],
    },
];

/// Reads this much of an answer, in pieces of `size` bytes.
fn read(of: &Recorded, to: usize, size: usize, close: BodyEnd) -> (AnswerEnd, VecDeque<AnswerEvent>) {
    read_body((of.protocol, of.form), &of.body[..to], size, close)
}

/// Reads a body as an answer of this protocol and form, in pieces.
pub(in crate::engine::protocols) fn read_body(
    (protocol, form): (&'static Protocol, AnswerForm),
    body: &[u8],
    size: usize,
    close: BodyEnd,
) -> (AnswerEnd, VecDeque<AnswerEvent>) {
    let mut headers = HeaderMap::new();
    let media = if form == AnswerForm::Streamed { "text/event-stream" } else { "application/json" };
    headers.insert("content-type", media.parse().unwrap());
    let reader = ResponseReader::new(StatusCode::OK, &headers, form, Secrets::default());
    let mut reader = reader.beside(Arc::default(), protocol.answers).capturing(CaptureText::Yes);
    let mut events = VecDeque::new();
    let arrival = |read| ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read };
    for (place, piece) in body.chunks(size).enumerate() {
        if let Some(end) = reader.bytes(piece, arrival(place as u64), &mut events) {
            return (end, events);
        }
    }
    (reader.end(close, arrival(u64::MAX >> 1), &mut events), events)
}

#[test]
fn they_say_what_the_server_said() {
    for of in &RECORDED {
        for size in [1, 7, 1000, usize::MAX] {
            let (end, events) = read(of, of.body.len(), size, BodyEnd::Clean);
            assert_eq!(end.result, Ok(()), "{}", of.protocol);
            let said = end.captured.unwrap().read();
            let text = match of.tool {
                Some(tool) => {
                    assert_eq!(said.tool_calls.len(), 1);
                    assert_eq!(said.tool_calls[0].name, tool);
                    said.tool_calls[0].arguments.clone()
                }
                None => said.content.clone(),
            };
            assert!(text.starts_with(of.text[0]) && text.ends_with(of.text[1]), "{}: {text}", of.protocol);
            assert_eq!(end.finish_reason, Some(FinishReason::Length), "{}", of.protocol);
            let usage = end.usage.unwrap();
            assert_eq!([usage.prompt_tokens, usage.completion_tokens], of.usage, "{}", of.protocol);
            assert!(end.oddities.0.is_empty(), "{}: {:?}", of.protocol, end.oddities);
            let kind = if of.tool.is_some() { ChunkText::ToolCall } else { ChunkText::Content };
            assert_eq!(events.len(), of.chunks, "{}", of.protocol);
            assert!(events.iter().all(|event| matches!(event, AnswerEvent::Chunk { text, .. } if *text == kind)));
        }
    }
}

#[test]
fn cut_anywhere_they_are_never_complete() {
    for of in &RECORDED {
        let step = if of.body.len() > 5_000 { 41 } else { 3 };
        // A finish reason says that all has come where an end of its own follows.
        let reason = br#""finish_reason":"length""#;
        let finish = of.body.windows(reason.len()).position(|part| part == reason);
        let ends_by_itself = of.protocol.answers.ends.is_empty() || of.form == AnswerForm::Whole;
        let whole = finish.filter(|_| !ends_by_itself).unwrap_or(of.body.len().saturating_sub(3));
        for to in (0..whole).step_by(step) {
            for close in [BodyEnd::Broken, BodyEnd::Clean] {
                let (end, _) = read(of, to, usize::MAX, close);
                let failed = end.result.expect_err("an answer that was cut").reason;
                let known = [FailureKind::Reset, FailureKind::Truncated, FailureKind::Malformed, FailureKind::Empty];
                assert!(known.contains(&failed), "{} at {to}: {failed:?}", of.protocol);
            }
        }
        // What a gateway puts in place of the end is none.
        if of.form == AnswerForm::Streamed && ends_by_itself {
            let last = of.body.windows(7).rposition(|seven| seven == b"\nevent:").unwrap();
            let body = [&of.body[..last], b"\ndata: [DONE]\n\n"].concat();
            let gateways = Recorded { body: Box::leak(body.into()), ..*of };
            let (end, _) = read(&gateways, gateways.body.len(), usize::MAX, BodyEnd::Clean);
            assert!(end.result.is_err(), "{}", of.protocol);
        }
    }
}
