//! The engine against servers written byte by byte, so that every fault can be made.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::clock::RunClock;
use crate::engine::{
    Answer, AnswerEnd, AnswerEvent, AnswerForm, Dialect, Engine, PreparedRequest, Secret, Target,
};
use crate::record::{FailureKind, FinishReason};

/// One thing that a server does with a request.
#[derive(Clone)]
enum Act {
    Send(Vec<u8>),
    Pause,
    Close,
    Reset,
}

fn send(text: &str) -> Act {
    Act::Send(text.as_bytes().to_vec())
}

/// A server on a port of its own. The n-th POST is answered by the n-th script, the last one again and again;
/// GETs are answered as vLLM would.
struct Server {
    url: String,
    /// Number of the connection, and the whole request, of every POST.
    seen: Arc<Mutex<Vec<(usize, String)>>>,
}

async fn serve(scripts: Vec<Vec<Act>>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (scripts, log) = (Arc::new(scripts), Arc::clone(&seen));
    tokio::spawn(async move {
        for number in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(converse(socket, number, Arc::clone(&scripts), Arc::clone(&log)));
        }
    });
    Server { url, seen }
}

async fn converse(
    mut socket: TcpStream,
    number: usize,
    scripts: Arc<Vec<Vec<Act>>>,
    log: Arc<Mutex<Vec<(usize, String)>>>,
) {
    while let Some(request) = read_request(&mut socket).await {
        if request.starts_with("GET /v1/models") {
            let list = r#"{"data":[{"id":"m","max_model_len":4096},{"id":"n"}]}"#;
            socket.write_all(&json(200, list)).await.unwrap();
            continue;
        }
        if request.starts_with("GET /version") {
            socket.write_all(&json(200, r#"{"version":"9.9"}"#)).await.unwrap();
            continue;
        }
        if request.starts_with("GET") {
            socket.write_all(&json(200, "{}")).await.unwrap();
            continue;
        }
        let turn = {
            let mut log = log.lock().unwrap();
            log.push((number, request));
            log.len() - 1
        };
        for act in &scripts[turn.min(scripts.len() - 1)] {
            match act {
                Act::Send(bytes) => socket.write_all(bytes).await.unwrap(),
                Act::Pause => tokio::time::sleep(Duration::from_millis(20)).await,
                Act::Close => return,
                Act::Reset => {
                    socket.set_zero_linger().unwrap();
                    return;
                }
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn json(status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Act {
    send(&format!("{:x}\r\n{text}\r\n", text.len()))
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A good answer of `texts`, each in a chunk of its own.
fn good(texts: &[&str]) -> Vec<Act> {
    let mut acts = vec![send(STREAM)];
    acts.extend(texts.iter().map(|text| chunk(&delta(text))));
    acts.extend([chunk(FINISH), chunk(DONE), send("0\r\n\r\n")]);
    acts
}

fn target(server: &Server) -> Target {
    let mut target = Target::new(server.url.parse().unwrap(), Dialect::Vllm);
    target.api_key = Some(Secret::new("hunter2hunter2"));
    target
}

async fn engine(target: Target) -> OpenAiEngine {
    OpenAiEngine::connect(target, Duration::from_secs(5), |_| ()).await.unwrap()
}

async fn ask(engine: &OpenAiEngine) -> (Vec<AnswerEvent>, AnswerEnd) {
    let body = engine_body();
    let mut answer =
        engine.generate(PreparedRequest { index: 42, body }, RunClock::starting_in(Duration::ZERO));
    let mut events = Vec::new();
    loop {
        match answer.next().await {
            AnswerEvent::Ended(end) => return (events, end),
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

fn chunks(events: &[AnswerEvent]) -> Vec<bool> {
    let merged = |event: &AnswerEvent| {
        if let AnswerEvent::Chunk { merged, .. } = event { Some(*merged) } else { None }
    };
    events.iter().filter_map(merged).collect()
}

#[tokio::test]
async fn a_good_stream_is_told_in_order() {
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
        "\r\nx-request-id: req_000042\r\n",
        "\r\nhost: 127.0.0.1:",
    ] {
        assert!(request.contains(line), "{line:?} in {request}");
    }
    let facts = engine.facts();
    assert_eq!((facts.model.as_str(), facts.max_model_len), ("m", Some(4096)));
    assert_eq!(facts.server_version.as_deref(), Some("9.9"));
}

#[tokio::test]
async fn events_in_one_write_are_merged_and_others_are_not() {
    let two = delta("a") + &delta("b");
    let acts =
        vec![send(STREAM), chunk(&two), Act::Pause, chunk(&delta("c")), chunk(FINISH), send("0\r\n\r\n")];
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
        send(&format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let begun = |then: Vec<Act>| [vec![send(STREAM), chunk(&delta("a"))], then].concat();
    let whole = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    for (acts, kind, words) in [
        (vec![Act::Close], FailureKind::Reset, "closed the connection before it answered"),
        (begun(vec![Act::Pause, Act::Reset]), FailureKind::Reset, "after 1 chunk"),
        (begun(vec![Act::Pause, Act::Close]), FailureKind::Reset, "after 1 chunk"),
        (begun(vec![send("0\r\n\r\n")]), FailureKind::Truncated, "after 1 chunk"),
        (begun(vec![chunk(DONE), Act::Pause, Act::Close]), FailureKind::Truncated, "without a finish reason"),
        (
            begun(vec![chunk("data: {\"error\":{\"message\":\"boom\"}}\n\n")]),
            FailureKind::StreamError,
            "boom",
        ),
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
        assert!(
            failure.reason == kind && failure.message.contains(words),
            "{failure} is not {kind}: {words}"
        );
    }
}

#[tokio::test]
async fn a_missing_done_or_usage_does_no_harm() {
    let acts = vec![send(STREAM), chunk(&delta("a")), chunk(FINISH), send("0\r\n\r\n")];
    let (_, end) = answer_to(acts).await;
    assert_eq!((end.result, end.usage), (Ok(()), None));
}

#[tokio::test]
async fn connections_are_used_again_and_lost_ones_are_told() {
    let server = serve(vec![good(&["a"]), good(&["b"]), vec![Act::Close]]).await;
    let engine = engine(target(&server)).await;
    for turn in 0..2 {
        let (events, end) = ask(&engine).await;
        assert_eq!(end.result, Ok(()), "{turn}");
        assert!(
            matches!(events[0], AnswerEvent::Sent { opened_connection, .. } if opened_connection == (turn == 0))
        );
        // Lets the last bytes of the answer arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let failure = ask(&engine).await.1.result.unwrap_err();
    assert!(failure.reason == FailureKind::Reset && failure.message.contains("reused idle"), "{failure}");
}

#[tokio::test]
async fn a_connection_that_died_idle_is_not_used() {
    let closing = [good(&["a"]), vec![Act::Close]].concat();
    let server = serve(vec![closing.clone(), closing]).await;
    let engine = engine(target(&server)).await;
    for _ in 0..3 {
        assert_eq!(ask(&engine).await.1.result, Ok(()));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn warm_connections_spare_requests_the_opening() {
    let server = serve(vec![good(&["a"])]).await;
    let engine = engine(target(&server)).await;
    engine.warm_up(3).await;
    let (events, _) = ask(&engine).await;
    assert!(matches!(events[0], AnswerEvent::Sent { opened_connection: false, .. }), "{events:?}");
}

#[tokio::test]
async fn next_may_be_dropped_at_any_time() {
    let mut acts = good(&["a", "b", "c"]);
    for at in (1..acts.len()).rev() {
        acts.insert(at, Act::Pause);
    }
    let server = serve(vec![acts]).await;
    let engine = engine(target(&server)).await;
    let request = PreparedRequest { index: 0, body: engine_body() };
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    let mut events = Vec::new();
    let end = loop {
        match tokio::time::timeout(Duration::from_millis(1), answer.next()).await {
            Err(_) => {}
            Ok(AnswerEvent::Ended(end)) => break end,
            Ok(event) => events.push(event),
        }
    };
    assert_eq!((end.result, chunks(&events).len(), events.len()), (Ok(()), 3, 5));
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
async fn smoke_tests_name_the_cure_and_no_secret() {
    for (acts, model, cure) in [
        (vec![Act::Send(json(401, r#"{"error":"bad key hunter2hunter2"}"#))], "m", "--api-key-env"),
        (vec![Act::Send(json(404, r#"{"error":"no model"}"#))], "x", "it lists: m, n"),
        (vec![Act::Send(json(404, r#"{"detail":"Not Found"}"#))], "m", "choose another --endpoint"),
        (vec![Act::Send(json(400, r#"{"error":"ignore_eos?"}"#))], "m", "--extra-body"),
        (vec![Act::Send(json(200, r#"{"choices":[]}"#))], "m", "--no-stream"),
        (vec![Act::Pause, Act::Pause, Act::Pause, Act::Pause, Act::Pause, Act::Pause], "m", "slow or stuck"),
    ] {
        let server = serve(vec![acts]).await;
        let mut target = target(&server);
        target.model = Some(model.to_owned());
        let error =
            engine(target).await.smoke_test(Duration::from_millis(100)).await.unwrap_err().to_string();
        assert!(error.contains("\nhint: ") && error.contains(cure), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let server = serve(vec![good(&["a", "b"])]).await;
    let report = engine(target(&server)).await.smoke_test(Duration::from_secs(5)).await.unwrap();
    assert_eq!(report.chunks, 2);
    assert!(server.seen.lock().unwrap()[0].1.contains(r#""max_tokens":4"#));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_waited_for_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut told = 0;
    let target = Target::new(format!("http://{address}").parse().unwrap(), Dialect::Vllm);
    let waited = OpenAiEngine::connect(target, Duration::from_millis(600), |_| told += 1).await;
    let error = waited.err().unwrap().to_string();
    assert!(told >= 1, "the wait is told");
    for part in [&format!("{address} refused the connection"), "\nhint: is the server running"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn tokens_are_counted_where_the_server_can() {
    let server = serve(vec![vec![Act::Send(json(200, r#"{"count":3,"tokens":[1,2,3]}"#))]]).await;
    let texts = vec!["a b c".to_owned(); 20];
    assert_eq!(engine(target(&server)).await.count_tokens(&texts).await, Ok(Some(vec![3; 20])));
    let server = serve(vec![vec![Act::Send(json(404, "{}"))]]).await;
    assert_eq!(engine(target(&server)).await.count_tokens(&texts).await, Ok(None));
}
