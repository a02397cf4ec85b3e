//! The tries at a length after the first: what they ask for, and how long they may take.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::engine;
use super::server::{json, read_request};
use crate::engine::LengthTest;
use crate::engine::openai::preflight::SmokeReport;
use crate::engine::target::{AnswerForm, Secret, Target};
use crate::record::EngineKind;
use crate::workload::AnswerEnding;

const KEY: &str = "hunter2hunter2";

/// Serves one model, `m-` and the API key, with changing answers to test requests. The first gets this answer, the
/// second that after so long, and all later ones four tokens.
async fn picky(listener: TcpListener, first: Vec<u8>, pause: Duration, bodies: Bodies) -> Infallible {
    let answer = async |mut socket: TcpStream| {
        while let Some(request) = read_request(&mut socket).await {
            let answer = if request.starts_with("GET /v1/models") {
                json(200, &format!(r#"{{"data":[{{"id":"m-{KEY}"}}]}}"#))
            } else if request.starts_with("GET") {
                json(200, "{}")
            } else {
                bodies.lock().unwrap().push(request);
                let tries = bodies.lock().unwrap().len();
                tokio::time::sleep(if tries == 2 { pause } else { Duration::ZERO }).await;
                if tries == 1 { first.clone() } else { whole(4) }
            };
            // The client may have given up.
            let _ = socket.write_all(&answer).await;
        }
    };
    let mut conversations = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => conversations.push(answer(accepted.unwrap().0)),
            Some(()) = conversations.next() => {}
        }
    }
}

type Bodies = Arc<Mutex<Vec<String>>>;

/// A whole answer of so many tokens by the server's count.
fn whole(tokens: u32) -> Vec<u8> {
    let choice = r#"{"index":0,"message":{"content":"w"},"finish_reason":"length"}"#;
    let usage = format!(r#"{{"prompt_tokens":7,"completion_tokens":{tokens}}}"#);
    json(200, &format!(r#"{{"choices":[{choice}],"usage":{usage}}}"#))
}

/// Returns what comes of test requests within a minute. Beside it are how long they took, and what they sent. One that
/// follows an answer may take as long as `retry`.
async fn tested(first: Vec<u8>, pause: Duration, retry: Duration) -> (SmokeReport, Duration, Vec<String>) {
    tested_with(first, pause, retry, |_| ()).await
}

/// Findings of a target with a change.
async fn tested_with(
    first: Vec<u8>,
    pause: Duration,
    retry: Duration,
    change: impl Fn(&mut Target),
) -> (SmokeReport, Duration, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut target =
        Target::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap(), EngineKind::Openai);
    (target.api_key, target.form) = (Some(Secret::new(KEY)), AnswerForm::Whole);
    change(&mut target);
    let bodies = Bodies::default();
    let mut server = Box::pin(picky(listener, first, pause, Arc::clone(&bodies)));
    let engine = tokio::select! { engine = engine(target) => engine, never = &mut server => match never {} };
    let begun = Instant::now();
    let report = tokio::select! {
        tested = engine.tested_within(Duration::from_mins(1), retry, |_| ()) => tested.unwrap().1,
        never = &mut server => match never {},
    };
    let sent = bodies.lock().unwrap().clone();
    (report, begun.elapsed(), sent)
}

#[tokio::test]
async fn after_a_refusal_the_same_model_has_all_of_the_time() {
    let refusal = json(400, r#"{"error":"Unsupported parameter: 'max_completion_tokens'"}"#);
    let [pause, retry] = [200, 50].map(Duration::from_millis);
    let (report, took, sent) = tested(refusal, pause, retry).await;
    assert_eq!((report.length, report.changed.is_some()), (LengthTest::Kept, true));
    assert!(took >= pause, "{took:?}");
    // Its name is hidden where it is shown, and sent as it is.
    assert!(sent.len() == 3 && sent[1].contains(&format!("\"m-{KEY}\"")), "{sent:?}");
    assert!(sent[1].contains("max_tokens"), "{sent:?}");
}

#[tokio::test]
async fn after_an_answer_the_server_is_warm_and_has_less() {
    let [pause, retry] = [Duration::from_hours(1), Duration::from_millis(50)];
    let (report, took, sent) = tested(whole(90), pause, retry).await;
    assert_eq!((report.length, sent.len()), (LengthTest::Ignored, 2));
    assert!(took >= retry, "{took:?}");
}

#[tokio::test]
async fn of_answers_that_end_by_themselves_only_the_limit_is_tested() {
    let [pause, retry] = [Duration::ZERO, Duration::from_secs(5)];
    let natural = |target: &mut Target| {
        (target.dialect, target.endings) = (EngineKind::Vllm, vec![AnswerEnding::Natural]);
    };
    let early = json(
        200,
        r#"{"choices":[{"index":0,"message":{"content":"w"},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":7,"completion_tokens":1}}"#,
    );
    for (first, length, tries) in [(early, LengthTest::NotTested, 1), (whole(4), LengthTest::Kept, 1)] {
        let (report, _, sent) = tested_with(first, pause, retry, natural).await;
        assert_eq!((report.length, sent.len(), report.changed), (length, tries, None), "{sent:?}");
        assert!(sent.iter().all(|body| body.contains("max_tokens") && !body.contains("ignore_eos")), "{sent:?}");
    }
    let (report, _, sent) = tested_with(whole(90), pause, retry, natural).await;
    assert_eq!(
        report.changed.as_deref(),
        Some("the server does not go by max_tokens: requests ask for their lengths with max_completion_tokens"),
        "{sent:?}"
    );
}
