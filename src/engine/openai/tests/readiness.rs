//! Servers that are absent, not ready or unusable, before any load.

use std::sync::Mutex;
use std::time::Instant;

use super::*;

#[tokio::test]
async fn smoke_tests_name_the_cure_and_no_secret() {
    for (acts, model, cure) in [
        (vec![Act::Send(json(401, r#"{"error":"bad key hunter2hunter2"}"#))], "m", "--api-key-env"),
        (vec![Act::Send(json(404, r#"{"error":"no model"}"#))], "x", "it lists: m, n"),
        (vec![Act::Send(json(404, r#"{"detail":"Not Found"}"#))], "m", "choose another --endpoint"),
        (vec![Act::Send(json(404, r#"{"error":"a model of routing"}"#))], "m", "choose another --endpoint"),
        (vec![Act::Send(json(404, r#"{"error":"what is `m`?"}"#))], "m", "another with --model"),
        (vec![Act::Send(json(404, r#"{"error":{"message":"?","param":"model"}}"#))], "m", "another with --model"),
        (vec![send(&html("<p>compressed, not streaming</p>"))], "m", "not of a web page"),
        (vec![Act::Send(json(400, r#"{"error":"ignore_eos?"}"#))], "m", r#"--extra-body '{"ignore_eos": null}'"#),
        (vec![Act::Send(json(200, r#"{"choices":[]}"#))], "m", "--no-stream"),
        (vec![Act::Pause, Act::Pause, Act::Pause, Act::Pause, Act::Pause, Act::Pause], "m", "slow or stuck"),
    ] {
        let server = serve(vec![acts]).await;
        let mut target = target(&server);
        target.model = Some(model.to_owned());
        let limit = Duration::from_millis(if cure == "slow or stuck" { 100 } else { 10_000 });
        let error = engine(target).await.smoke_test("hi", limit).await.unwrap_err().to_string();
        assert!(error.contains("\nhint: ") && error.contains(cure), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let server = serve(vec![good(&["a", "b"])]).await;
    let report = engine(target(&server)).await.smoke_test("hi", Duration::from_secs(5)).await.unwrap();
    assert_eq!(report.chunks, 2);
    assert!(server.seen.lock().unwrap()[0].1.contains(r#""max_tokens":4"#));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_waited_for_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut reported = 0;
    let target = Target::new(format!("http://{address}").parse().unwrap(), EngineKind::Vllm);
    let waited = OpenAiEngine::connect(target, Duration::from_millis(600), |progress| {
        let limited = matches!(progress, ConnectProgress::Waiting { limit, .. } if limit.as_millis() == 600);
        reported += u32::from(limited);
    });
    let error = waited.await.err().unwrap().to_string();
    assert!(reported >= 1, "the wait is reported");
    let port = address.port();
    for part in [
        &format!("{address} refused the connection"),
        "was not ready within 600 ms",
        &format!("\nhint: start the server: `vllm serve MODEL --port {port}`"),
        "\nhint: or name a server that runs: --url ",
        &format!("`skyline mock --port {port}`"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_silent_server_is_waited_for_no_longer_than_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let start = tokio::time::Instant::now();
    let target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
    let error = OpenAiEngine::connect(target, Duration::from_millis(300), |_| ()).await.err().unwrap();
    assert!(error.to_string().contains("no answer within"), "{error}");
    // Each attempt takes at least a second; 30 s was the limit of one request.
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_plain_server_asked_for_tls_is_given_up_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut hello = vec![0; 16 << 10];
            if socket.read(&mut hello).await.is_ok() {
                socket.write_all(&json(400, "{}")).await.unwrap();
            }
        }
    });
    let mut target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
    target.tls.check = crate::engine::target::CertificateCheck::Skipped;
    let error = OpenAiEngine::connect(target, Duration::from_mins(10), |progress| never_ready(&progress));
    let error = error.await.err().unwrap().to_string();
    assert!(error.contains("does not speak TLS") && error.contains("hint: ") && error.contains("http://"), "{error}");
}

/// A status with the wait that it asks for, in milliseconds.
fn refusal(wait_ms: u64) -> Vec<Act> {
    let body = r#"{"error":"slow down"}"#;
    let head = format!("content-length: {}\r\nretry-after-ms: {wait_ms}", body.len());
    vec![send(&format!("HTTP/1.1 429 Too Many Requests\r\n{head}\r\n\r\n{body}"))]
}

#[tokio::test]
async fn one_refusal_of_the_test_request_is_waited_for_as_the_server_asks() {
    let limit = Duration::from_secs(5);
    let server = serve(vec![refusal(150), good(&["a", "b"])]).await;
    let waits = Mutex::new(Vec::new());
    let begun = Instant::now();
    engine(target(&server)).await.tested(limit, |wait| waits.lock().unwrap().push(wait)).await.unwrap();
    assert_eq!(*waits.lock().unwrap(), [Duration::from_millis(150)]);
    assert!(begun.elapsed() >= Duration::from_millis(150));

    let server = serve(vec![refusal(1)]).await;
    let error = engine(target(&server)).await.tested(limit, |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("429") && error.contains("\nhint: "), "{error}");
    assert_eq!(server.seen.lock().unwrap().len(), 2, "it is sent once more, not again and again");

    let server = serve(vec![refusal(120_000)]).await;
    let error = engine(target(&server)).await.tested(limit, |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("the server asks to wait 2 min"), "{error}");
    assert_eq!(server.seen.lock().unwrap().len(), 1, "nobody comes back early");
}

async fn connected(url: &str, dialect: EngineKind, wait: Duration) -> Result<OpenAiEngine, String> {
    let target = Target::new(url.parse().unwrap(), dialect);
    OpenAiEngine::connect(target, wait, |_| ()).await.map_err(|error| error.to_string())
}

const MODELS: &str = r#"{"data":[{"id":"m"}]}"#;

#[tokio::test]
async fn the_page_of_a_gateway_that_costs_is_never_asked_for() {
    let gateway = |line: &str| match line.split(' ').nth(1).unwrap_or_default() {
        "/health/liveliness" => json(200, r#""I'm alive!""#),
        "/v1/models" => json(200, MODELS),
        "/health" => json(200, r#"{"healthy_endpoints":[]}"#),
        _ => json(404, "{}"),
    };
    for dialect in EngineKind::ALL {
        let (url, lines) = pages(gateway).await;
        let engine = connected(&url, *dialect, Duration::from_secs(5)).await.unwrap();
        let abilities = engine.abilities().await;
        let lines = lines.lock().unwrap();
        assert!(!lines.iter().any(|line| line.starts_with("GET /health ")), "{dialect}: {lines:?}");
        let health = abilities.endpoints.iter().find(|known| known.path.starts_with("/health"));
        assert!(health.is_none_or(|known| known.path == "/health/liveliness"), "{dialect}: {health:?}");
    }
}

#[tokio::test]
async fn a_server_that_misses_a_key_is_not_awaited() {
    let locked = |_: &str| json(500, r#"{"error":{"message":"Authentication Error, No api key passed in."}}"#);
    let (url, _) = pages(locked).await;
    let error = connected(&url, EngineKind::Vllm, Duration::from_mins(10)).await.err().unwrap();
    assert!(error.contains("cannot be used") && error.contains("no key was sent: set OPENAI_API_KEY"), "{error}");
}

#[tokio::test]
async fn a_page_of_health_that_fails_is_passed_over_where_models_are_listed() {
    let sick = |line: &str| match line.split(' ').nth(1).unwrap_or_default() {
        "/v1/models" => json(200, MODELS),
        "/health" => json(500, "boom"),
        _ => json(404, "{}"),
    };
    let (url, _) = pages(sick).await;
    let target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
    let mut passed_over = Vec::new();
    let engine = OpenAiEngine::connect(target, Duration::from_millis(300), |progress| {
        if let ConnectProgress::HealthPassedOver { reason } = progress {
            passed_over.push(reason);
        }
    });
    assert_eq!(engine.await.unwrap().facts().model, "m");
    assert!(
        passed_over.len() == 1
            && passed_over[0]
                .starts_with("note: the server's health page fails (/health answers 500: boom), but it lists"),
        "{passed_over:?}"
    );
    // One that loads is awaited.
    let (url, _) = pages(|line| match line.split(' ').nth(1).unwrap_or_default() {
        "/v1/models" => json(200, MODELS),
        _ => json(503, "Loading model"),
    })
    .await;
    let error = connected(&url, EngineKind::Vllm, Duration::from_millis(300)).await.err().unwrap();
    assert!(error.contains("was not ready within 300 ms"), "{error}");
}

#[tokio::test]
async fn a_mock_is_known_whatever_dialect_it_is_asked_in() {
    let (url, _) = pages(|_| json(200, r#"{"data":[{"id":"m","owned_by":"skyline"}]}"#)).await;
    let facts = connected(&url, EngineKind::Openai, Duration::from_secs(5)).await.unwrap().facts().clone();
    assert_eq!(facts.engine, "mock");
    let (url, _) = pages(|_| {
        b"HTTP/1.1 200 OK\r\nserver: skyline-mock\r\ncontent-length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}".to_vec()
    })
    .await;
    let facts = connected(&url, EngineKind::Vllm, Duration::from_secs(5)).await.unwrap().facts().clone();
    assert_eq!(facts.engine, "mock");
}
