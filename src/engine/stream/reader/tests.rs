//! Streams cut and corrupted at random: the reader neither panics nor gives different results.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::header::HeaderValue;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::clock::Timestamp;
use crate::engine::answer_limits::AnswerMemory;
use crate::engine::stream::transcripts::streamed_bodies;

/// Everything read from a stream in pieces cut at `cuts`. Every piece has the same stamp, so that the pieces
/// cannot show.
fn read_in_pieces(stream: &[u8], mut cuts: Vec<usize>, close: BodyEnd) -> (AnswerEvents, AnswerEnd) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let mut reader = ResponseReader::new(StatusCode::OK, &headers, AnswerForm::Streamed, Secrets::default());
    let arrival = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 1 };
    let mut events = AnswerEvents::new();
    cuts.push(stream.len());
    cuts.sort_unstable();
    let mut start = 0;
    for cut in cuts {
        // Each piece in memory of its own, so that reads beyond it are found.
        let piece = stream[start..cut].to_vec();
        start = cut;
        if let Some(end) = reader.bytes(&piece, arrival, &mut events) {
            return (events, end);
        }
    }
    let end = reader.end(close, arrival, &mut events);
    (events, end)
}

/// Beginnings of streams, of up to 1,500 bytes each. One that is short is there whole.
static BEGINNINGS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let cut = |(_, mut body): (String, Vec<u8>)| {
        body.truncate(1500);
        body
    };
    streamed_bodies().into_iter().map(cut).collect()
});

/// Draws a stream cut short, with up to three places spoilt. It also draws where the stream is cut into pieces.
fn spoilt() -> impl Strategy<Value = (Vec<u8>, Vec<usize>, BodyEnd)> {
    let put = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..3),
        prop::sample::select(vec![
            &b"\n"[..],
            b"\r",
            b"\n\n",
            b"\r\n\r\n",
            b"data: ",
            b": x\n",
            b"event: error\n",
            b"\"",
            b"[DONE]",
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    let index = any::<prop::sample::Index>;
    let edits = prop::collection::vec((index(), 0..4_usize, put), 0..4);
    (index(), edits, prop::collection::vec(index(), 0..12), any::<bool>()).prop_map(|(which, edits, cuts, clean)| {
        let mut stream = which.get(&BEGINNINGS).clone();
        for (at, gone, put) in edits {
            let at = at.index(stream.len() + 1);
            let end = stream.len().min(at + gone);
            stream.splice(at..end, put);
        }
        let cuts = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        (stream, cuts, if clean { BodyEnd::Clean } else { BodyEnd::Broken })
    })
}

fn is_read_alike((stream, cuts, close): (Vec<u8>, Vec<usize>, BodyEnd)) -> Result<(), TestCaseError> {
    let whole = read_in_pieces(&stream, Vec::new(), close);
    prop_assert_eq!(&read_in_pieces(&stream, cuts, close), &whole);
    prop_assert_eq!(&read_in_pieces(&stream, (0..stream.len()).collect(), close), &whole);
    Ok(())
}

#[test]
#[ignore = "a hundred thousand streams; tests/interop/long_tests.sh runs it"]
fn a_hundred_thousand_spoilt_streams_are_read_alike_however_they_are_cut() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(100_000));
    runner.run(&spoilt(), is_read_alike).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_split_of_any_stream_spoilt_anyhow_is_read_alike(spoilt in spoilt()) {
        is_read_alike(spoilt)?;
    }

    #[test]
    fn bytes_of_any_kind_are_read_alike(
        stream in prop::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()
    ) {
        let whole = read_in_pieces(&stream, Vec::new(), BodyEnd::Clean);
        prop_assert_eq!(&read_in_pieces(&stream, vec![cut.index(stream.len() + 1)], BodyEnd::Clean), &whole);
    }
}

#[test]
fn an_event_of_several_lines_without_its_empty_line_is_taken_whole() {
    let stream = b"data: {\"choices\":\ndata: [{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n";
    let (events, end) = read_in_pieces(stream, Vec::new(), BodyEnd::Clean);
    assert_eq!((events.len(), end.result), (1, Ok(())));
}

/// One answer of so many bytes of text, captured, in this memory.
fn captured(memory: &Arc<AnswerMemory>, form: AnswerForm, bytes: usize) -> AnswerEnd {
    let stream = form == AnswerForm::Streamed;
    let media = if stream { "text/event-stream" } else { "application/json" };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]);
    let reader = ResponseReader::new(StatusCode::OK, &headers, form, Secrets::default());
    let held = HeldMemory::none(Arc::clone(memory));
    let mut reader = reader.within(AnswerBudget::default(), 1, held).capturing(CaptureText::Yes);
    let arrival = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 1 };
    let (part, text) = (if stream { "delta" } else { "message" }, "w".repeat(bytes));
    let document = format!(r#"{{"choices":[{{"index":0,"{part}":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#);
    let body = if stream { format!("data: {document}\n\ndata: [DONE]\n\n") } else { document };
    let mut events = AnswerEvents::new();
    let end = reader.bytes(body.as_bytes(), arrival, &mut events);
    end.unwrap_or_else(|| reader.end(BodyEnd::Clean, arrival, &mut events))
}

/// Texts that wait to be written, however short each of them is.
#[test]
fn captured_texts_count_as_memory_until_they_are_dropped() {
    for form in [AnswerForm::Streamed, AnswerForm::Whole] {
        let memory = Arc::new(AnswerMemory::new(1 << 20));
        let mut waiting: Vec<_> = (0..40).map(|_| captured(&memory, form, 9_000)).collect();
        assert!(waiting.iter().all(|end| end.result.is_ok() && end.captured.is_some()), "{form:?}");
        waiting.extend((0..200).map(|_| captured(&memory, form, 9_000)));
        let failure = waiting[239].result.clone().unwrap_err();
        assert!(failure.reason == FailureKind::ClientLimit && failure.message.contains("--answer-memory"));
        // A clone is the same text.
        waiting.truncate(1);
        let copy = waiting.pop().unwrap().captured;
        assert!(captured(&memory, form, 600_000).result.is_ok(), "{form:?}");
        assert!(captured(&memory, form, 9_000).result.is_ok() && copy.is_some());
    }
}

/// Returns the number of chunks and the end of an answer with this body. It is read under `media`, in pieces of every
/// size alike.
fn answered(media: &'static str, form: AnswerForm, body: &[u8]) -> (usize, AnswerEnd) {
    let read = |size: usize| {
        let mut headers = HeaderMap::new();
        if !media.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        }
        let mut reader = ResponseReader::new(StatusCode::OK, &headers, form, Secrets::default());
        let arrival = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 1 };
        let mut events = AnswerEvents::new();
        let end = body.chunks(size).find_map(|piece| reader.bytes(piece, arrival, &mut events));
        (events.len(), end.unwrap_or_else(|| reader.end(BodyEnd::Clean, arrival, &mut events)))
    };
    let whole = read(body.len().max(1));
    assert_eq!(read(1), whole, "{media}");
    whole
}

#[test]
fn the_first_bytes_decide_beside_the_content_type() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let last = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let stream = format!("data: {chunk}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    let lines = format!("{chunk}\n{last}\n");
    let whole = r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    let ended = format!("{whole}\n\ndata: [DONE]\n\n");
    let framed = format!("data: {ended}");
    let good = |media, form, body: &str, chunks, odd: &[&str]| {
        let (found, end) = answered(media, form, body.as_bytes());
        assert_eq!((found, &end.result), (chunks, &Ok(())), "{media} {body}");
        let what: Vec<_> = end.oddities.0.iter().map(|odd| odd.what.as_str()).collect();
        assert_eq!(what, odd, "{media} {body}");
        assert_eq!(end.whole_answer.is_some(), form == AnswerForm::Whole);
    };
    let (streamed, in_one) = (AnswerForm::Streamed, AnswerForm::Whole);
    good("text/event-stream; charset=utf-8", streamed, &stream, 1, &[]);
    good("application/json", streamed, &stream, 1, &["application/json"]);
    good("", streamed, &stream, 1, &["none"]);
    good("text/plain", streamed, &stream, 1, &["text/plain"]);
    good("text/event-stream", streamed, &lines, 1, &["{"]);
    good("application/x-ndjson", streamed, &lines, 1, &["application/x-ndjson", "{"]);
    good("application/json", in_one, whole, 0, &[]);
    good("application/vnd.api+json", in_one, whole, 0, &[]);
    good("text/plain", in_one, &format!("\u{feff}\n{whole}"), 0, &["text/plain"]);
    for body in [&ended, &framed, &stream] {
        good("text/event-stream", in_one, body, 0, &["text/event-stream"]);
    }
}

#[test]
fn what_is_no_answer_is_named_and_its_words_are_shown() {
    let error = r#"{"error":{"message":"context is full"}}"#;
    let whole = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    let (streamed, in_one) = (AnswerForm::Streamed, AnswerForm::Whole);
    let after = |line: &str| format!("{chunk}{line}");
    for (media, form, body, kind, words) in [
        ("text/event-stream", streamed, error.to_owned(), FailureKind::StreamError, "context is full"),
        ("text/event-stream", streamed, after(error), FailureKind::StreamError, "context is full"),
        ("text/event-stream", streamed, after("error: {\"message\":\"full\"}\n"), FailureKind::StreamError, "full"),
        ("text/event-stream", streamed, after(": error: timed out\n\n"), FailureKind::Truncated, "timed out"),
        ("text/event-stream", streamed, after("Data: x\n\n"), FailureKind::Truncated, "Data: x"),
        ("text/event-stream", streamed, after("data: Internal Server Error"), FailureKind::Truncated, "Internal"),
        ("text/event-stream", streamed, whole.to_owned(), FailureKind::Malformed, "not streaming: a whole JSON body"),
        ("text/event-stream", streamed, "{\"a\":1}\n{\"a\":2}\n".to_owned(), FailureKind::Malformed, "lines of JSON"),
        ("text/event-stream", streamed, "<html>busy</html>".to_owned(), FailureKind::Malformed, "busy"),
        ("text/event-stream", streamed, "\u{1f}".to_owned(), FailureKind::Truncated, "before any chunk"),
        ("text/plain", streamed, "Internal Server Error".to_owned(), FailureKind::Malformed, "Internal Server Error"),
        ("application/json", in_one, String::new(), FailureKind::Empty, "no body"),
        ("application/json", in_one, "{\"a\":1}".to_owned(), FailureKind::Malformed, "no choices"),
        ("application/json", in_one, error.to_owned(), FailureKind::StreamError, "context is full"),
    ] {
        let failure = answered(media, form, body.as_bytes()).1.result.unwrap_err();
        assert!(failure.reason == kind && failure.message.contains(words), "{body}: {failure}");
    }
    for media in ["text/event-stream", "application/json"] {
        let failure = answered(media, streamed, b"\x1f\x8b\x08\0").1.result.unwrap_err();
        assert!(failure.message.contains("compressed (gzip"), "{failure}");
    }
}
