//! One connection of the reference server: it reads requests and streams answers as vLLM writes them, with
//! usage in every chunk.
//!
//! A request's prompt says how to answer it: `50 5000000` means fifty tokens, one every five milliseconds,
//! each written by itself; a gap of 0 means all at once.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use mio::net::TcpStream;

use crate::clock::{RunClock, Timestamp};

/// A connection and its state.
pub(super) struct ReferenceConnection {
    socket: TcpStream,
    /// The bytes of an incomplete request.
    incoming: Vec<u8>,
    /// Bytes that the socket could not take yet.
    outgoing: Vec<u8>,
    /// The paced answer under way.
    pub(super) stream: Option<Stream>,
}

/// A paced answer.
pub(super) struct Stream {
    /// Index of its request in the schedule.
    pub(super) index: u64,
    tokens: u32,
    gap: Duration,
    /// Moment when the next token is due.
    pub(super) due: Timestamp,
    /// Moments when the write of each token began.
    pub(super) writes: Vec<Timestamp>,
}

impl ReferenceConnection {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self { socket, incoming: Vec::new(), outgoing: Vec::new(), stream: None }
    }

    /// Reads what has come and sends what is left. An error when the connection is over.
    pub(super) fn poll(&mut self, clock: RunClock) -> io::Result<()> {
        self.flush()?;
        let mut buffer = [0; 4096];
        loop {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.incoming.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some(request) = Request::take(&mut self.incoming) {
            self.answer(&request, clock)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request, clock: RunClock) -> io::Result<()> {
        let Some((index, tokens, gap)) = request.answer_wanted() else {
            // Other requests: health, models, version.
            let body = format!(
                "{{\"object\":\"list\",\"data\":[{{\"id\":\"{MODEL}\",\"object\":\"model\"}}],\"version\":\"0\"}}"
            );
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
            let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            self.outgoing.extend_from_slice(response.as_bytes());
            return self.flush();
        };
        self.outgoing.extend_from_slice(HEAD.as_bytes());
        event(&mut self.outgoing, ServerEvent::Role);
        if gap.is_zero() {
            (1..=tokens).for_each(|place| event(&mut self.outgoing, ServerEvent::Token(place, tokens)));
            self.close(tokens);
        } else {
            let due = clock.now().after(gap);
            self.stream = Some(Stream { index, tokens, gap, due, writes: Vec::new() });
        }
        self.flush()
    }

    /// Writes the token that is due. After the last one, writes the answer's end and returns the answer.
    pub(super) fn write_due(&mut self, clock: RunClock) -> io::Result<Option<Stream>> {
        let Some(mut stream) = self.stream.take() else { return Ok(None) };
        let place = stream.writes.len() as u32 + 1;
        event(&mut self.outgoing, ServerEvent::Token(place, stream.tokens));
        stream.writes.push(clock.now());
        self.flush()?;
        if place == stream.tokens {
            self.close(stream.tokens);
            self.flush()?;
            return Ok(Some(stream));
        }
        // Counted from the last due time, so that a late write delays no later one.
        stream.due = stream.due.after(stream.gap);
        self.stream = Some(stream);
        Ok(None)
    }

    fn close(&mut self, tokens: u32) {
        event(&mut self.outgoing, ServerEvent::Usage(tokens));
        event(&mut self.outgoing, ServerEvent::Done);
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut taken = 0;
        let ended = loop {
            if taken == self.outgoing.len() {
                break Ok(());
            }
            match self.socket.write(&self.outgoing[taken..]) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.outgoing.drain(..taken);
        ended
    }
}

/// A complete request as it came.
struct Request(String);

impl Request {
    /// Takes the first request from `bytes` if it is complete.
    fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let length = header(&String::from_utf8_lossy(&bytes[..head]), "content-length")
            .map_or(0, |length| length.parse().unwrap_or(0));
        (bytes.len() >= head + length)
            .then(|| Self(String::from_utf8_lossy(&bytes.drain(..head + length).collect::<Vec<_>>()).into()))
    }

    /// Index, tokens and gap, if the request asks for an answer.
    fn answer_wanted(&self) -> Option<(u64, u32, Duration)> {
        let (head, body) = self.0.split_once("\r\n\r\n")?;
        let (_, prompt) = body.split_once("\"content\":\"")?;
        let (tokens, gap) = prompt.split_once('"')?.0.split_once(' ')?;
        // The last part of a request's id is its index.
        let index = u64::from_str_radix(header(head, "x-request-id")?.rsplit('-').next()?, 16).ok()?;
        Some((index, tokens.parse().ok()?, Duration::from_nanos(gap.parse().ok()?)))
    }
}

/// The value of the header `name`.
fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// Name of the model that is served.
const MODEL: &str = "calibration";

/// Prompt tokens of every answer's usage.
const PROMPT_TOKENS: u32 = 12;

const HEAD: &str = "HTTP/1.1 200 OK\r\ndate: Sat, 21 Nov 2026 02:09:58 GMT\r\nserver: uvicorn\r\n\
    content-type: text/event-stream; charset=utf-8\r\nvary: Origin\r\ntransfer-encoding: chunked\r\n\r\n";

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerEvent {
    /// The role, without a token.
    Role,
    /// A token: its number from 1, and the number of tokens of the answer.
    Token(u32, u32),
    /// The usage of an answer of so many tokens.
    Usage(u32),
    /// The end.
    Done,
}

/// One event, as one chunk of the body; after [`ServerEvent::Done`] the body's end.
fn event(out: &mut Vec<u8>, said: ServerEvent) {
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
        format!("\"usage\":{{\"prompt_tokens\":{PROMPT_TOKENS},\"total_tokens\":{total},\"completion_tokens\":{tokens}")
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

    /// Returns the events of a stream captured from vLLM 0.32. Its words and its model's name are replaced by ours.
    fn captured() -> Vec<String> {
        let path = "tests/data/transcripts/vllm/chat_stream_continuous_usage.txt";
        let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
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
        let said = [ServerEvent::Role].into_iter().chain(tokens).chain([ServerEvent::Usage(6), ServerEvent::Done]);
        assert_eq!(said.map(document).collect::<Vec<_>>(), captured());
    }

    #[test]
    fn an_event_is_a_chunk_of_its_own_length() {
        let mut bytes = Vec::new();
        event(&mut bytes, ServerEvent::Done);
        assert_eq!(String::from_utf8(bytes).unwrap(), "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    }
}
