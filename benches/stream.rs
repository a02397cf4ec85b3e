//! How fast an answer is read: from the bytes of its body to its events.
//!
//! Beside it what the crate `eventsource-stream` takes for the framing alone; and on the same events without their framing
//! what `serde_json` takes into types and into a `Value`.
//!
//! Nanoseconds an event, on one of two shared cores of an Intel Xeon (a cloud machine), rustc 1.95, `serde_json` 1.0.154,
//! memchr 2.8.3, `cargo bench --bench stream`. Others kept the machine busy, so of six runs the fastest sample of each
//! figure stands here, read from criterion's `sample.json`; the medians it printed were one and a half to five and a
//! half times as much, moving from run to run, and only good for comparing rows of one run.
//!
//! | stream (bytes an event) | coalesced | one event a piece | into types | into a `Value` |
//! |---|---|---|---|---|
//! | vllm chat (223) | 43 | 53 | 283 | 958 |
//! | vllm completions (243) | 38 | 48 | 301 | 1,020 |
//! | vllm continuous usage (325) | 278 | 275 | 403 | 1,561 |
//! | vllm n=2 (229) | 200 | 213 | 297 | 1,027 |
//! | llama.cpp (240) | 44 | 52 | 287 | 921 |
//! | llama.cpp logprobs (544) | 583 | 605 | 613 | 3,323 |
//! | llama-cpp-python (242) | 43 | 52 | 273 | 993 |
//! | litserve, an id a chunk (297) | 249 | 259 | 379 | 1,373 |
//! | sglang (293) | 46 | 54 | 361 | 1,255 |

#![allow(missing_docs, reason = "criterion's macros write functions without")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource as _;
use futures::{FutureExt as _, StreamExt as _};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use skyline::clock::Timestamp;
use skyline::engine::{AnswerEvent, AnswerForm, ArrivalStamp, BodyEnd, ResponseReader, Secrets};

/// Events of a measured stream; captures that are shorter have their middle repeated.
const EVENTS: usize = 300;
/// Bytes of one read of a stream that comes coalesced.
const READ: usize = 16 << 10;

/// What each stream is called, and the capture it is made from.
const CAPTURES: [(&str, &str); 9] = [
    ("vllm chat", "vllm/chat_stream_ignore_eos_300.txt"),
    ("vllm completions", "vllm/compl_stream_usage.txt"),
    ("vllm continuous usage", "vllm/chat_stream_continuous_usage.txt"),
    ("vllm n=2", "vllm/chat_stream_n2.txt"),
    ("llama.cpp", "llamacpp_cpp/chat_stream_ignore_eos_300.txt"),
    ("llama.cpp logprobs", "llamacpp_cpp/chat_stream_logprobs.txt"),
    ("llama-cpp-python", "llamacpp_py/chat_stream_ignore_eos_300.txt"),
    ("litserve (an id a chunk)", "litserve/chat_stream_ignore_eos_300.txt"),
    ("sglang", "vllm/chat_stream_ignore_eos_300.txt"),
];

/// The chunk of a peer that reads into types, with no more fields than a client needs.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    #[expect(dead_code, reason = "reading it is what is measured")]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    #[expect(dead_code, reason = "reading it is what is measured")]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// The events of a stream, each with its empty line.
fn events(name: &str, file: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transcripts").join(file);
    let capture = fs::read_to_string(path).unwrap();
    let captured: Vec<&str> = capture.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    // The last three say why the model stopped, the usage, and that it is over; the first may name a role.
    let (body, last) = captured.split_at(captured.len() - 3);
    let (first, middle) = body.split_at(1);
    let middle = middle.iter().cycle().take(EVENTS - 4);
    let event =
        |data: &&str| format!("data: {}\n\n", if name == "sglang" { as_sglang(data) } else { (*data).to_owned() });
    first.iter().chain(middle).chain(last).map(|data| event(data).into_bytes()).collect()
}

/// A chunk of vLLM with the fields of `SGLang` 0.5.
fn as_sglang(data: &str) -> String {
    data.replace(r#""delta":{"content":"#, r#""delta":{"role":null,"content":"#)
        .replace(r#""},"logprobs":null"#, r#"","reasoning_content":null,"tool_calls":null},"logprobs":null"#)
        .replace(r#","token_ids":null}]}"#, r#","matched_stop":null}],"usage":null}"#)
}

/// Reads an answer whose body comes in `pieces`.
fn read<'a>(headers: &HeaderMap, pieces: impl Iterator<Item = &'a [u8]>, events: &mut VecDeque<AnswerEvent>) -> usize {
    let mut reader = ResponseReader::new(StatusCode::OK, headers, AnswerForm::Streamed, Secrets::default());
    let mut found = 0;
    let mut arrival = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 0 };
    for piece in pieces {
        arrival.read += 1;
        let progress = reader.bytes(piece, arrival, events);
        found += events.len();
        events.clear();
        black_box(progress);
    }
    black_box(reader.end(BodyEnd::Clean, arrival, events));
    found
}

fn streams(criterion: &mut Criterion) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    for (name, file) in CAPTURES {
        let events = events(name, file);
        let whole = events.concat();
        let mut found = VecDeque::new();
        assert!(read(&headers, whole.chunks(READ), &mut found) > EVENTS / 2, "{name} has no text");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(events.len() as u64));
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
        group.bench_function("coalesced", |bencher| {
            bencher.iter(|| read(&headers, black_box(&whole).chunks(READ), &mut found));
        });
        group.bench_function("one event a piece", |bencher| {
            bencher.iter(|| read(&headers, black_box(&events).iter().map(Vec::as_slice), &mut found));
        });
        let json: Vec<&[u8]> =
            events.iter().map(|event| &event[6..event.len() - 2]).filter(|data| data.starts_with(b"{")).collect();
        group.bench_function("eventsource-stream, framing alone, one event a piece", |bencher| {
            bencher.iter(|| {
                let pieces = black_box(&events).iter().map(Ok::<_, std::convert::Infallible>);
                let found = futures::stream::iter(pieces).eventsource();
                black_box(found.filter(|event| std::future::ready(event.is_ok())).count().now_or_never())
            });
        });
        group.bench_function("serde_json, typed, without framing", |bencher| {
            bencher.iter(|| {
                let text = |json: &&&[u8]| {
                    let chunk = serde_json::from_slice::<Chunk<'_>>(json).unwrap();
                    chunk.choices.first().is_some_and(|choice| {
                        let text = choice.delta.as_ref().and_then(|delta| delta.content.as_ref());
                        text.or(choice.text.as_ref()).is_some_and(|text| !text.is_empty())
                    })
                };
                black_box(&json).iter().filter(text).count()
            });
        });
        group.bench_function("serde_json, Value, without framing", |bencher| {
            bencher.iter(|| {
                for json in black_box(&json) {
                    black_box(serde_json::from_slice::<serde_json::Value>(json).unwrap());
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, streams);
criterion_main!(benches);
