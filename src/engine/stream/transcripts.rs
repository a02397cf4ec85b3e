//! Answers captured from real servers, read again: each must give what `tests/data/transcripts.json` says.
//!
//! The expectations come from a reader that shares no code with this one (a script over Python's `json`), and
//! were then checked by eye against the bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::chunk::{Choice, ChunkJson};
use super::reader::ResponseReader;
use super::sse::SseFramer;
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent};
use crate::engine::captured_text::CaptureText;
use crate::engine::secrets::Secrets;
use crate::engine::target::AnswerForm;
use crate::engine::transport::{ArrivalStamp, BodyEnd};
use crate::record::FinishReason;

/// The contents of one captured answer.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    /// `completed`, the kind of failure, or `unfinished` where the capture ends in mid-answer.
    outcome: String,
    /// Chunks with text.
    chunks: u64,
    /// Sum of the chunks' tokens, where every chunk reports them.
    tokens: Option<u64>,
    /// The first 48 characters of the text of all choices.
    text: String,
    /// Characters of the whole text.
    characters: usize,
    finish: Option<String>,
    /// Tokens of prompt and answer.
    usage: Option<(u64, u64)>,
    /// The beginning of a failure's message.
    says: String,
}

/// One captured answer: its head, the pieces of its body, and how its transport ended.
struct Capture {
    status: StatusCode,
    headers: HeaderMap,
    form: AnswerForm,
    pieces: Vec<Bytes>,
    /// `None`: the capture stops before the answer does.
    close: Option<BodyEnd>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transcripts")
}

#[test]
fn every_transcript_reads_as_expected() {
    let expected = fs::read_to_string(folder().with_extension("json")).unwrap();
    let expected: BTreeMap<String, Vec<Reading>> = serde_json::from_str(&expected).unwrap();
    let mut present = BTreeSet::new();
    for group in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in fs::read_dir(group).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned();
            let readings = expected.get(&name).unwrap_or_else(|| panic!("{name} has no expectation"));
            present.insert(name.clone());
            if readings.is_empty() {
                continue; // Not an answer: a health check, a list of models, metrics.
            }
            let captures = captures(&file);
            assert_eq!(captures.len(), readings.len(), "{name}");
            for (capture, reading) in captures.iter().zip(readings) {
                // Byte by byte only where that is soon done: where else they are cut, other streams show.
                let bytes: usize = capture.pieces.iter().map(Bytes::len).sum();
                for size in [usize::MAX, 1000, if bytes < 10_000 { 1 } else { 17 }] {
                    check(&name, &read(capture, size), reading);
                }
            }
        }
    }
    assert_eq!(present, expected.into_keys().collect(), "expectations without a file");
}

fn check(name: &str, found: &Reading, expected: &Reading) {
    assert!(found.says.starts_with(&expected.says), "{name}: {found:?}, not {expected:?}");
    let found = Reading {
        says: expected.says.clone(),
        outcome: found.outcome.clone(),
        text: found.text.clone(),
        finish: found.finish.clone(),
        ..*found
    };
    assert_eq!(&found, expected, "{name}");
}

/// Reads a capture with its pieces cut to `size` bytes.
fn read(capture: &Capture, size: usize) -> Reading {
    let reader = ResponseReader::new(capture.status, &capture.headers, capture.form, Secrets::default());
    let mut reader = Some(reader.capturing(CaptureText::Yes));
    let mut events = VecDeque::new();
    let mut end = None;
    let arrival = |read| ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read };
    let pieces = capture.pieces.iter().flat_map(|piece| {
        (0..piece.len()).step_by(size).map(|from| piece.slice(from..piece.len().min(from.saturating_add(size))))
    });
    let mut reads = 0;
    for piece in pieces {
        reads += 1;
        if let Some(over) = reader.as_mut().unwrap().bytes(&piece, arrival(reads), &mut events) {
            end = Some(over);
            break;
        }
    }
    let complete = reader.as_ref().is_some_and(ResponseReader::is_complete).then_some(BodyEnd::Clean);
    let close = capture.close.or(complete);
    let end = end.or_else(|| Some(reader.take()?.end(close?, arrival(reads + 1), &mut events)));
    reading(capture, &events, end.as_ref())
}

fn reading(capture: &Capture, events: &VecDeque<AnswerEvent>, end: Option<&AnswerEnd>) -> Reading {
    let mut tokens = Some(0);
    for event in events {
        let AnswerEvent::Chunk { tokens: carried, .. } = event else { panic!("{event:?}") };
        tokens = tokens.zip(*carried).map(|(sum, carried)| sum + u64::from(carried));
    }
    let said = text(capture, |_| true);
    let (outcome, says) = match end.map(|end| &end.result) {
        None => ("unfinished".to_owned(), String::new()),
        Some(Ok(())) => ("completed".to_owned(), String::new()),
        Some(Err(failure)) => (failure.reason.to_string(), failure.message.clone()),
    };
    let captured = end.and_then(|end| end.captured.as_ref()).map(|captured| captured.read().content);
    assert_eq!(
        captured,
        (outcome == "completed").then(|| text(capture, |index| index == 0)),
        "what is captured are the words"
    );
    let streamed = capture.form == AnswerForm::Streamed;
    assert_eq!(
        end.is_some_and(|end| end.whole_answer.is_some()),
        !streamed && outcome == "completed",
        "whole_answer is there for whole answers only"
    );
    Reading {
        outcome,
        says,
        chunks: events.len() as u64,
        tokens: tokens.filter(|_| !events.is_empty()),
        characters: said.chars().count(),
        text: said.chars().take(48).collect(),
        finish: end.and_then(|end| end.finish_reason.as_ref()).map(|reason| match reason {
            FinishReason::Stop => "stop".to_owned(),
            FinishReason::Length => "length".to_owned(),
            other => format!("{other:?}"),
        }),
        usage: end.and_then(|end| end.usage).map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
    }
}

/// The text of these choices, in order of arrival.
fn text(capture: &Capture, of: impl Fn(u32) -> bool) -> String {
    let body = capture.pieces.concat();
    if !capture.status.is_success() {
        return String::new();
    }
    let content = |json: &[u8]| {
        let document = ChunkJson::parse(json, Default::default()).ok()?;
        Some(document.choices().iter().filter(|choice| of(choice.index)).map(Choice::content).collect::<String>())
    };
    if capture.form == AnswerForm::Whole {
        return content(&body).unwrap();
    }
    let mut framer = SseFramer::default();
    let mut rest = &body[..];
    std::iter::from_fn(|| framer.next_event(&mut rest)).filter_map(|event| content(&event.data)).collect()
}

/// The answers in a file.
fn captures(file: &Path) -> Vec<Capture> {
    let bytes = fs::read(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    if name.starts_with("rawrecv") { reads_as_logged(&bytes) } else { vec![as_curl_wrote_it(name, &bytes)] }
}

fn as_curl_wrote_it(name: &str, bytes: &[u8]) -> Capture {
    let mut rest = bytes;
    let mut about = String::new();
    while rest.starts_with(b"###") {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        about.push_str(&String::from_utf8_lossy(&rest[..end]));
        rest = &rest[end..];
    }
    let asked_whole = about.contains("body: {") && !about.contains(r#""stream":true"#) && !about.contains("cut here");
    let form = if asked_whole || name.contains("nonstream") { AnswerForm::Whole } else { AnswerForm::Streamed };
    let (rest, curl) = curl_status(rest);
    // One file was saved without its head, from a stream whose chunked framing broke.
    let (status, headers, body, curl) = if rest.starts_with(b"HTTP/") {
        let (status, headers, body) = split_head(rest);
        (status, headers, body, curl)
    } else {
        let headers = fields("content-type: text/event-stream");
        (StatusCode::OK, headers, rest, Some(18))
    };
    let close = match curl {
        // A capture of exactly 20,000 bytes was truncated there.
        _ if bytes.len() == 20_000 => None,
        None | Some(0) => Some(BodyEnd::Clean),
        Some(28) => None,
        Some(_) => Some(BodyEnd::Broken),
    };
    let chunked = headers.contains_key("transfer-encoding") && starts_with_a_chunk(body);
    let (pieces, close) = if chunked {
        let (mut pieces, rest, ended) = without_chunks(body);
        // An incomplete chunk gives what there is of it.
        let partial = rest.iter().position(|&byte| byte == b'\n').map(|line| &rest[line + 1..]);
        pieces.extend(partial.filter(|_| !ended).map(Bytes::copy_from_slice));
        (pieces, Some(if ended { BodyEnd::Clean } else { BodyEnd::Broken }))
    } else {
        (vec![Bytes::copy_from_slice(body)], close)
    };
    Capture { status, headers, form, pieces, close }
}

fn starts_with_a_chunk(body: &[u8]) -> bool {
    let line = body.split(|&byte| byte == b'\r').next().unwrap_or_default();
    !line.is_empty() && line.len() < body.len() && line.iter().all(u8::is_ascii_hexdigit)
}

/// The note that the capture's script left at the end, and what stands before it.
fn curl_status(bytes: &[u8]) -> (&[u8], Option<u32>) {
    let start = bytes.len().saturating_sub(24);
    let tail = String::from_utf8_lossy(&bytes[start..]);
    let Some((before, code)) = tail.split_once("curl rc=") else { return (bytes, None) };
    let note = bytes.len() - "curl rc=".len() - code.len() - if before.ends_with("### ") { 4 } else { 0 };
    let body = bytes[..note].strip_suffix(b"\n").unwrap_or(&bytes[..note]);
    (body, Some(code.trim().parse().unwrap()))
}

/// Returns the answers on one connection. The pieces of their bodies are as the socket gave them.
fn reads_as_logged(log: &[u8]) -> Vec<Capture> {
    let mut found: Vec<Capture> = Vec::new();
    let mut pending: Vec<u8> = Vec::new();
    for line in String::from_utf8(log.to_vec()).unwrap().lines().filter(|line| line.starts_with('[')) {
        let at = line.find(" B b").unwrap() + 3;
        pending.extend(python_bytes(&line[at..]));
        loop {
            if pending.starts_with(b"HTTP/") {
                let (status, headers, body) = split_head(&pending);
                let form = AnswerForm::Streamed;
                found.push(Capture { status, headers, form, pieces: Vec::new(), close: None });
                pending = body.to_vec();
            }
            let (pieces, rest, ended) = without_chunks(&pending);
            pending = rest.to_vec();
            let current = found.last_mut().unwrap();
            // What one read brought counts as one piece.
            current.pieces.extend((!pieces.is_empty()).then(|| Bytes::from(pieces.concat())));
            if !ended {
                break;
            }
            current.close = Some(BodyEnd::Clean);
            if pending.is_empty() {
                break;
            }
        }
    }
    found
}

/// Returns the whole chunks of a chunked body, and what is left. It also returns whether the last chunk came.
fn without_chunks(mut body: &[u8]) -> (Vec<Bytes>, &[u8], bool) {
    let mut pieces = Vec::new();
    loop {
        let Some(line) = body.windows(2).position(|pair| pair == b"\r\n") else {
            return (pieces, body, false);
        };
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).unwrap(), 16).unwrap();
        let Some(rest) = body.get(line + 2 + size + 2..) else { return (pieces, body, false) };
        if size == 0 {
            return (pieces, rest, true);
        }
        pieces.push(Bytes::copy_from_slice(&body[line + 2..line + 2 + size]));
        body = rest;
    }
}

fn split_head(bytes: &[u8]) -> (StatusCode, HeaderMap, &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let (line, rest) = head.split_once("\r\n").unwrap();
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    (status, fields(rest), &bytes[end + 4..])
}

fn fields(lines: &str) -> HeaderMap {
    let parse = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value.trim()).ok()?))
    };
    lines.lines().filter_map(parse).collect()
}

/// Returns every captured body of a stream by the name of its file. It was captured whole or in part.
pub(crate) fn streamed_bodies() -> Vec<(String, Vec<u8>)> {
    let mut bodies = Vec::new();
    for group in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in fs::read_dir(group).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned();
            if name.contains("stream") && !name.contains("nonstream") && !name.contains("err_") {
                let streams = captures(&file).into_iter().filter(|capture| capture.status.is_success());
                bodies.extend(streams.map(|capture| (name.clone(), capture.pieces.concat())));
            }
        }
    }
    bodies.sort();
    bodies
}

/// The answers in a log of reads, each as the reads that brought it.
pub(crate) fn logged_reads(file: &str) -> Vec<Vec<Vec<u8>>> {
    let log = fs::read_to_string(folder().join(file)).unwrap();
    let mut answers = vec![Vec::new()];
    for line in log.lines().filter(|line| line.starts_with('[')) {
        let read = python_bytes(&line[line.find(" B b").unwrap() + 3..]);
        let last = read.ends_with(b"0\r\n\r\n");
        answers.last_mut().unwrap().push(read);
        if last {
            answers.push(Vec::new());
        }
    }
    answers.pop();
    answers
}

/// The bytes that a Python `b'…'` literal stands for.
fn python_bytes(literal: &str) -> Vec<u8> {
    let inside = literal.trim_start_matches('b');
    let mut rest = inside[1..inside.len() - 1].bytes();
    let mut found = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            found.push(byte);
            continue;
        }
        found.push(match rest.next().unwrap() {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    found
}
