//! The engine against servers scripted byte by byte, so that every fault can be made.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::clock::RunClock;
use crate::engine::answer::{Answer, AnswerEnd, AnswerEvent, Engine, PreparedRequest};
use crate::engine::stream::transcripts::logged_reads;
use crate::engine::target::{AnswerForm, Secret, Target};
use crate::record::{EngineKind, FailureKind, FinishReason};

mod addresses;
mod http2;
mod lengths;
mod readiness;
mod reuse;
mod secrets;
mod server;
#[cfg(target_os = "linux")]
mod stamps;
mod tls;
mod urls;

use server::{Act, DONE, FINISH, STREAM, Server, chunk, delta, good, json, pages, send, serve, serve_at, serve_with};

fn target(server: &Server) -> Target {
    let mut target = Target::new(server.url.parse().unwrap(), EngineKind::Vllm);
    target.api_key = Some(Secret::new("hunter2hunter2"));
    target
}

async fn engine(target: Target) -> OpenAiEngine {
    OpenAiEngine::connect(target, Duration::from_secs(5), |_| ()).await.unwrap()
}

/// Checks the progress of a connection to what will never be ready. An attempt may take its time, and a second one is
/// in vain.
fn never_ready(progress: &ConnectProgress) {
    let slow = matches!(progress, ConnectProgress::Waiting { reason, .. } if reason == "no answer yet");
    assert!(slow, "{progress:?}");
}

async fn ask(engine: &OpenAiEngine) -> (Vec<AnswerEvent>, AnswerEnd) {
    let body = engine_body();
    let mut answer = engine.generate(PreparedRequest::new(42, body), RunClock::starting_in(Duration::ZERO));
    let mut events = Vec::new();
    loop {
        match answer.next().await {
            AnswerEvent::Ended(end) => return (events, *end),
            event => events.push(event),
        }
    }
}

fn engine_body() -> bytes::Bytes {
    bytes::Bytes::from_static(b"{}")
}

async fn answer_to(acts: Vec<Act>) -> (Vec<AnswerEvent>, AnswerEnd) {
    let server = serve(vec![acts]).await;
    ask(&engine(target(&server)).await).await
}

/// A web page.
fn html(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn chunks(events: &[AnswerEvent]) -> Vec<bool> {
    let merged = |event: &AnswerEvent| {
        if let AnswerEvent::Chunk { merged, .. } = event { Some(*merged) } else { None }
    };
    events.iter().filter_map(merged).collect()
}

#[tokio::test]
async fn a_good_stream_is_reported_in_order() {
    let server = serve(vec![good(&["a", "b"])]).await;
    let engine = engine(target(&server)).await;
    let (events, end) = ask(&engine).await;
    assert!(matches!(events[0], AnswerEvent::Sent { opened_connection: true, .. }), "{events:?}");
    assert!(matches!(events[1], AnswerEvent::Headers { .. }), "{events:?}");
    assert_eq!((events.len(), chunks(&events).len()), (4, 2));
    assert_eq!((end.result, end.finish_reason), (Ok(()), Some(FinishReason::Length)));
    let request = server.seen.lock().unwrap()[0].1.to_lowercase();
    for line in [
        "post /v1/chat/completions http/1.1\r\n",
        "\r\naccept-encoding: identity\r\n",
        "\r\naccept: text/event-stream\r\n",
        "\r\nauthorization: bearer hunter2hunter2\r\n",
        &format!("\r\nx-request-id: {}00000000002a\r\n", engine.facts().request_id_prefix),
        "\r\nhost: 127.0.0.1:",
    ] {
        assert!(request.contains(line), "{line:?} in {request}");
    }
    let facts = engine.facts();
    assert_eq!((facts.model.as_str(), facts.max_model_len), ("m", Some(4096)));
    assert_eq!(facts.server_version.as_deref(), Some("9.9"));
}

#[tokio::test]
async fn why_the_model_stopped_is_known_before_the_end() {
    let server = serve(vec![vec![send(STREAM), chunk(&delta("a")), Act::Pause, chunk(FINISH)]]).await;
    let engine = engine(target(&server)).await;
    let request = PreparedRequest::new(0, engine_body());
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    while !matches!(answer.next().await, AnswerEvent::Chunk { .. }) {}
    assert_eq!(answer.finish_reason(), None);
    // Nothing more happens, but the finish reason is read; 10 s are enough on any machine.
    for _ in 0..1_000 {
        let silence = tokio::time::timeout(Duration::from_millis(10), answer.next()).await;
        assert!(silence.is_err(), "{silence:?}");
        if answer.finish_reason() == Some(FinishReason::Length) {
            return;
        }
    }
    panic!("the finish reason was not read");
}

#[tokio::test]
async fn events_in_one_write_are_merged_and_others_are_not() {
    let two = delta("a") + &delta("b");
    let acts = vec![send(STREAM), chunk(&two), Act::Pause, chunk(&delta("c")), chunk(FINISH), send("0\r\n\r\n")];
    let (events, end) = answer_to(acts).await;
    assert_eq!(end.result, Ok(()));
    assert_eq!(chunks(&events), [false, true, false]);
}

#[tokio::test]
async fn events_cut_anywhere_are_whole_again() {
    let stream = format!(": ping\r\n\r\n{}{FINISH}", delta("漢字").replace('\n', "\r\n"));
    let head = "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let mut acts = vec![send(head)];
    for byte in stream.into_bytes().chunks(7) {
        acts.extend([Act::Send(byte.to_vec()), Act::Pause]);
    }
    acts.push(Act::Close);
    let (events, end) = answer_to(acts).await;
    assert_eq!((end.result, chunks(&events).len()), (Ok(()), 1));
}

#[tokio::test]
async fn every_fault_has_its_kind() {
    let typed = |media: &str, body: &str| {
        send(&format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    };
    let begun = |then: Vec<Act>| [vec![send(STREAM), chunk(&delta("a"))], then].concat();
    let whole = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    for (acts, kind, words) in [
        (vec![Act::Close], FailureKind::Reset, "closed the connection before it answered"),
        (begun(vec![Act::Pause, Act::Reset]), FailureKind::Reset, "after 1 chunk"),
        (begun(vec![Act::Pause, Act::Close]), FailureKind::Reset, "after 1 chunk"),
        (begun(vec![send("0\r\n\r\n")]), FailureKind::Truncated, "after 1 chunk"),
        (begun(vec![chunk(DONE), Act::Pause, Act::Close]), FailureKind::Truncated, "without a finish reason"),
        (begun(vec![chunk("data: {\"error\":{\"message\":\"boom\"}}\n\n")]), FailureKind::StreamError, "boom"),
        (begun(vec![chunk("data: {\"choices\":[\n\n")]), FailureKind::Malformed, "not the JSON"),
        (begun(vec![send("xyz\r\n")]), FailureKind::Malformed, "broken chunked framing"),
        (vec![send(STREAM), send("0\r\n\r\n")], FailureKind::Truncated, "before any chunk"),
        (vec![send(STREAM), chunk(FINISH), chunk(DONE)], FailureKind::Empty, "without any text"),
        (vec![typed("application/json", whole)], FailureKind::Malformed, "not streaming"),
        (vec![typed("text/html", "<h1>hi</h1>")], FailureKind::Malformed, "wrong content type: `text/html`"),
        (
            vec![typed("text/event-stream\r\ncontent-encoding: gzip", "\u{1f}")],
            FailureKind::Malformed,
            "compressed (gzip)",
        ),
        (vec![Act::Send(json(429, r#"{"error":"slow"}"#))], FailureKind::HttpStatus(429), "slow"),
        (vec![send("SSH-2.0-x\r\n\r\n"), Act::Close], FailureKind::Malformed, "not HTTP"),
    ] {
        let (_, end) = answer_to(acts).await;
        let failure = end.result.unwrap_err();
        assert!(failure.reason == kind && failure.message.contains(words), "{failure} is not {kind}: {words}");
    }
}

#[tokio::test]
async fn a_missing_done_or_usage_does_no_harm() {
    let acts = vec![send(STREAM), chunk(&delta("a")), chunk(FINISH), send("0\r\n\r\n")];
    let (_, end) = answer_to(acts).await;
    assert_eq!((end.result, end.usage), (Ok(()), None));
}

/// Number of times that a task must be polled before `action` is done.
async fn polls<T>(action: impl Future<Output = T>) -> (u64, T) {
    let mut action = std::pin::pin!(action);
    let mut count = 0;
    let result = std::future::poll_fn(|cx| {
        count += 1;
        action.as_mut().poll(cx)
    })
    .await;
    (count, result)
}

#[tokio::test]
async fn a_server_that_never_pauses_does_not_keep_a_poll_busy() {
    const CHUNKS: usize = 10_000;
    let stream = |piece: &str, times: usize| {
        let Act::Send(piece) = chunk(piece) else { unreachable!() };
        let all = [STREAM.as_bytes(), &piece.repeat(times)].concat();
        vec![Act::Send(all), chunk(&delta("a")), chunk(FINISH), chunk(DONE), send("0\r\n\r\n")]
    };
    let scripts = vec![stream(": ping\n\n", 50_000), stream(&delta("x"), CHUNKS)];
    let lengths = scripts.iter().map(|acts| if let Act::Send(bytes) = &acts[0] { bytes.len() } else { 0 });
    let lengths: Vec<usize> = lengths.collect();
    let server = serve(scripts).await;
    let engine = engine(target(&server)).await;
    // No poll takes more than one buffer of 64 KiB, with or without events, and without help of tokio's
    // budget.
    for (length, chunked) in lengths.into_iter().zip([1, CHUNKS + 1]) {
        let (count, (events, end)) = polls(tokio::task::unconstrained(ask(&engine))).await;
        assert_eq!((end.result, chunks(&events).len()), (Ok(()), chunked));
        assert!(count >= length as u64 / (64 << 10), "{length} bytes in {count} polls");
    }
}

#[tokio::test]
async fn the_users_headers_win_and_may_be_given_twice() {
    let server = serve(vec![good(&["a"])]).await;
    let mut target = target(&server);
    for line in [
        "X-Tag: one",
        "x-tag: two",
        "Authorization: Basic abcd",
        "Host: elsewhere",
        "User-Agent: me",
        "Accept: */*",
        "X-Request-Id: mine",
    ] {
        target.headers.push(line.parse().unwrap());
    }
    assert_eq!(ask(&engine(target).await).await.1.result, Ok(()));
    let post = server.seen.lock().unwrap()[0].1.to_lowercase();
    let gets = server.asked.lock().unwrap().clone();
    assert!(!gets.is_empty());
    for request in gets.into_iter().map(|get| get.to_lowercase()).chain([post]) {
        let values = |name: &str| -> Vec<String> {
            let fields = request.lines().filter_map(|line| line.split_once(": "));
            fields.filter(|(field, _)| *field == name).map(|(_, value)| value.to_owned()).collect()
        };
        for (name, expected) in [
            ("x-tag", &["one", "two"][..]),
            ("authorization", &["basic abcd"]),
            ("host", &["elsewhere"]),
            ("user-agent", &["me"]),
            ("accept", &["*/*"]),
            ("x-request-id", &["mine"]),
        ] {
            assert_eq!(values(name), expected, "{name} in {request}");
        }
    }
}

#[tokio::test]
async fn next_may_be_dropped_at_any_time() {
    let mut acts = good(&["a", "b", "c"]);
    for at in (1..acts.len()).rev() {
        acts.insert(at, Act::Pause);
    }
    let server = serve(vec![acts]).await;
    let engine = engine(target(&server)).await;
    let request = PreparedRequest::new(0, engine_body());
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    let mut events = Vec::new();
    let end = loop {
        match tokio::time::timeout(Duration::from_millis(1), answer.next()).await {
            Err(_) => {}
            Ok(AnswerEvent::Ended(end)) => break *end,
            Ok(event) => events.push(event),
        }
    };
    assert_eq!((end.result, chunks(&events).len(), events.len()), (Ok(()), 3, 5));
}

#[tokio::test]
async fn dropping_an_answer_closes_its_connection() {
    let server = serve(vec![vec![send(STREAM), chunk(&delta("a"))]]).await;
    let engine = engine(target(&server)).await;
    let request = PreparedRequest::new(0, engine_body());
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    while !matches!(answer.next().await, AnswerEvent::Chunk { .. }) {}
    let connection = server.seen.lock().unwrap()[0].0;
    drop(answer);
    let closed = async {
        while !server.closed.lock().unwrap().contains(&connection) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), closed).await.expect("the server sees the close");
}

#[tokio::test]
async fn whole_answers_have_one_moment() {
    let body = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],
                   "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let server = serve(vec![vec![Act::Send(json(200, body))]]).await;
    let mut target = target(&server);
    target.form = AnswerForm::Whole;
    let (events, end) = ask(&engine(target).await).await;
    assert_eq!((events.len(), end.result), (2, Ok(())));
    assert_eq!(end.whole_answer, Some(end.at));
    assert_eq!(end.usage.unwrap().completion_tokens, 2);
}

#[tokio::test]
async fn tokens_are_counted_where_the_server_can() {
    let server = serve(vec![vec![Act::Send(json(200, r#"{"count":3,"tokens":[1,2,3]}"#))]]).await;
    let texts = vec!["a b c".to_owned(); 20];
    let mut steps = 0;
    let counted = engine(target(&server)).await.count_tokens(&texts, || steps += 1).await;
    assert_eq!((counted, steps), (Ok(Some(vec![3; 20])), 20));
    let late = engine(target(&server)).await.count_tokens_within(Duration::ZERO, &texts, || ()).await;
    assert_eq!(late.unwrap_err().message, "0 of 20 texts were counted in 0 s");
    let server = serve(vec![vec![Act::Send(json(404, "{}"))]]).await;
    assert_eq!(engine(target(&server)).await.count_tokens(&texts, || ()).await, Ok(None));
}

#[tokio::test]
async fn logged_reads_come_through_the_wire_as_they_were() {
    for (file, counts) in [
        ("vllm/rawrecv_chat.txt", [397, 392]),
        ("tfserve/rawrecv_completions.txt", [396, 396]),
        ("haproxy/rawrecv_chat.txt", [193, 180]),
        ("nginx_gzip/rawrecv_chat.txt", [195, 199]),
    ] {
        let answers = logged_reads(file);
        let scripts = answers.into_iter().map(|reads| reads.into_iter().map(Act::Send).collect()).collect();
        let server = serve(scripts).await;
        let engine = engine(target(&server)).await;
        for count in counts {
            let (events, end) = ask(&engine).await;
            assert_eq!((end.result, chunks(&events).len()), (Ok(()), count), "{file}");
            assert_eq!(end.finish_reason, Some(FinishReason::Length), "{file}");
        }
    }
}
