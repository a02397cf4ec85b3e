//! Addresses of every kind: what the request line, the `Host` header and a proxy say.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderName;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::{Act, good, json, read_request};
use super::tls::acceptor;
use super::{OpenAiEngine, ask, never_ready};
use crate::clock::RunClock;
use crate::engine::address::BaseUrl;
use crate::engine::answer::{Answer, Engine};
use crate::engine::proxy::Proxy;
use crate::engine::target::{CertificateCheck, Target};
use crate::generator::{PlannedRequest, Prompt};
use crate::record::{EngineKind, Turn};

type Seen = Arc<Mutex<Vec<String>>>;

/// Every request line and what follows of its head, at a server and proxy.
struct Listening {
    address: String,
    seen: Seen,
}

/// Serves at `address`, by TLS where a tunnel was asked for. The list of models is `models`, and there is no other
/// page. A tunnel is answered with `tunnel`.
async fn listen(address: &str, models: &'static [u8], tunnel: u16) -> Option<Listening> {
    let listener = TcpListener::bind(address).await.ok()?;
    let address = listener.local_addr().unwrap().to_string();
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let Some(request) = read_request(&mut socket).await else { return };
                if !request.starts_with("CONNECT") {
                    return answer(socket, request, models, log).await;
                }
                log.lock().unwrap().push(request);
                socket.write_all(format!("HTTP/1.1 {tunnel} X\r\n\r\n").as_bytes()).await.unwrap();
                let Ok(mut socket) = acceptor(&[]).accept(socket).await else { return };
                if let Some(request) = read_request(&mut socket).await {
                    answer(socket, request, models, log).await;
                }
            });
        }
    });
    Some(Listening { address, seen })
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S, first: String, models: &'static [u8], log: Seen) {
    let mut next = Some(first);
    while let Some(request) = next {
        let line = request.lines().next().unwrap();
        let acts = if line.starts_with("POST") {
            good(&["a"])
        } else if line.contains("/models") {
            vec![Act::Send(models.to_vec())]
        } else {
            vec![Act::Send(json(404, "{}"))]
        };
        log.lock().unwrap().push(request);
        for act in acts {
            let Act::Send(bytes) = act else { unreachable!() };
            socket.write_all(&bytes).await.unwrap();
        }
        next = read_request(&mut socket).await;
    }
}

impl Listening {
    /// The heads of requests whose line begins so, in lower case.
    fn heads(&self, beginning: &str) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let found = seen.iter().filter(|request| request.starts_with(beginning));
        found.map(|request| request.split("\r\n\r\n").next().unwrap().to_lowercase()).collect()
    }

    /// A target behind this proxy.
    fn proxied(&self, url: BaseUrl) -> Target {
        let matcher = Matcher::builder().all(format!("http://me:secret@{}", self.address)).build();
        let proxy = Proxy::find(&matcher, url.whole()).unwrap();
        assert!(proxy.is_some());
        let endpoint = url.endpoint().unwrap_or_default();
        let mut target = Target { proxy, ..Target::new(url, EngineKind::Openai) };
        target.endpoint = endpoint;
        target.tls.check = CertificateCheck::Skipped;
        target
    }
}

const LIST: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
const NO_LIST: &[u8] = b"HTTP/1.1 404 X\r\ncontent-length: 2\r\n\r\n{}";
const LOCKED: &[u8] = b"HTTP/1.1 401 X\r\ncontent-length: 2\r\n\r\n{}";

async fn connect(target: Target) -> Result<OpenAiEngine, String> {
    OpenAiEngine::connect(target, Duration::from_secs(5), |_| ()).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_address_is_asked_as_it_was_given() {
    let gemini = "generativelanguage.googleapis.com";
    let azure = "https://x.openai.azure.com/openai/deployments/NAME/chat/completions?api-version=2024-06-01";
    for (url, path, lines, host, model) in [
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            None,
            ["POST /v1beta/openai/chat/completions HTTP/1.1", "GET /v1beta/openai/models HTTP/1.1"],
            gemini,
            "m",
        ),
        (
            azure,
            None,
            [
                "POST /openai/deployments/NAME/chat/completions?api-version=2024-06-01 HTTP/1.1",
                "GET /openai/deployments/NAME/models?api-version=2024-06-01 HTTP/1.1",
            ],
            "x.openai.azure.com",
            "NAME",
        ),
        (
            "http://gate.example:8080/team/llm",
            None,
            [
                "POST http://gate.example:8080/team/llm/v1/chat/completions HTTP/1.1",
                "GET http://gate.example:8080/team/llm/v1/models HTTP/1.1",
            ],
            "gate.example:8080",
            "m",
        ),
        (
            "http://gate.example/v1/",
            Some("/custom/v1/chat/completions"),
            [
                "POST http://gate.example/custom/v1/chat/completions HTTP/1.1",
                "GET http://gate.example/v1/models HTTP/1.1",
            ],
            "gate.example",
            "m",
        ),
        (
            "http://[fd00::1]:8000/v1/completions",
            None,
            ["POST http://[fd00::1]:8000/v1/completions HTTP/1.1", "GET http://[fd00::1]:8000/v1/models HTTP/1.1"],
            "[fd00::1]:8000",
            "m",
        ),
    ] {
        let server = listen("127.0.0.1:0", if url == azure { NO_LIST } else { LIST }, 200).await.unwrap();
        let base: BaseUrl = url.parse().unwrap();
        let base = path.map_or(Ok(base.clone()), |path| base.with_path(path)).unwrap();
        let tunnelled = url.starts_with("https");
        let engine = connect(server.proxied(base)).await.unwrap();
        assert_eq!(ask(&engine).await.1.result, Ok(()), "{url}");
        assert_eq!(engine.facts().model, model, "{url}");
        assert_eq!(engine.facts().proxy, Some(format!("http://{}", server.address)));
        for line in lines {
            let heads = server.heads(line);
            assert!(!heads.is_empty(), "{line} of {url}: {:?}", server.seen.lock().unwrap());
            for head in heads {
                assert!(format!("{head}\r\n").contains(&format!("\r\nhost: {host}\r\n")), "{head}");
                assert_eq!(head.contains("\r\nproxy-authorization: basic "), !tunnelled, "{head}");
            }
        }
        let tunnels = server.heads("CONNECT");
        assert_eq!(tunnels.is_empty(), !tunnelled);
        for tunnel in tunnels {
            let login = "proxy-authorization: basic bwu6c2vjcmv0";
            assert_eq!(tunnel, format!("connect {host}:443 http/1.1\r\nhost: {host}:443\r\n{login}"));
        }
    }
}

#[tokio::test]
async fn an_ipv6_literal_is_an_address_like_another() {
    // Containers may have no IPv6.
    let Some(server) = listen("[::1]:0", LIST, 200).await else { return };
    // With the zone of the first interface, the loopback one.
    for url in [server.address.clone(), server.address.replace(']', "%251]")] {
        let url = format!("http://{url}");
        let engine = connect(Target::new(url.parse().unwrap(), EngineKind::Vllm)).await.unwrap();
        assert_eq!((ask(&engine).await.1.result, &engine.facts().url), (Ok(()), &url));
    }
    for line in ["POST /v1/chat/completions HTTP/1.1", "GET /v1/models HTTP/1.1"] {
        let heads = server.heads(line);
        assert_eq!(heads.len(), 2, "{line}");
        let host = format!("\r\nhost: {}", server.address);
        assert!(heads.iter().all(|head| head.contains(&host)), "{heads:?}");
    }
}

#[tokio::test]
async fn a_server_without_a_list_of_models_needs_the_models_name_alone() {
    let other: [&[u8]; 3] = [
        b"HTTP/1.1 302 X\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 400 X\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 405 X\r\ncontent-length: 0\r\n\r\n",
    ];
    for models in other.into_iter().chain([NO_LIST, LOCKED]) {
        let server = listen("127.0.0.1:0", models, 200).await.unwrap();
        let mut target = Target::new(format!("http://{}", server.address).parse().unwrap(), EngineKind::Openai);
        let error = connect(target.clone()).await.err().unwrap();
        assert!(error.contains("does not list its models") && error.contains("--model"), "{error}");
        target.model = Some("toy".to_owned());
        let engine = connect(target).await.unwrap();
        assert_eq!((ask(&engine).await.1.result, &*engine.facts().model), (Ok(()), "toy"));
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_at_once() {
    let server = listen("127.0.0.1:0", LIST, 407).await.unwrap();
    let target = server.proxied("https://example.org".parse().unwrap());
    let connecting = OpenAiEngine::connect(target, Duration::from_mins(10), |progress| never_ready(&progress));
    let error = connecting.await.err().unwrap().to_string();
    for part in [&format!("the proxy http://{}: it refuses with 407", server.address), "NO_PROXY=HOST"] {
        assert!(error.contains(part) && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let missing = Listening { address: gone, seen: Seen::default() };
    let target = missing.proxied("https://example.org".parse().unwrap());
    let error = OpenAiEngine::connect(target, Duration::ZERO, |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("the proxy http://127.0.0.1") && error.contains("refused the connection"), "{error}");
    assert!(error.contains("NO_PROXY=HOST"), "{error}");
}

#[tokio::test]
async fn every_turn_of_a_session_carries_its_id() {
    let server = listen("127.0.0.1:0", LIST, 200).await.unwrap();
    let mut target = Target::new(format!("http://{}", server.address).parse().unwrap(), EngineKind::Vllm);
    target.marks.session_header = Some(HeaderName::from_static("x-session-id"));
    let engine = connect(target).await.unwrap();
    for index in [7, 70, 700] {
        let turn = (index != 700).then_some(Turn { session: 7, ..Turn::default() });
        let planned = PlannedRequest { index, turn, ..PlannedRequest::default() };
        let request = engine.prepare(&planned.into_spec(Prompt::default()));
        let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
        assert_eq!(answer.until_end().await.result, Ok(()));
    }
    let prefix = engine.facts().request_id_prefix.clone();
    let carried = |head: &String| {
        let id = head.lines().find_map(|line| line.strip_prefix("x-session-id: ")).unwrap();
        u64::from_str_radix(id.strip_prefix(&*prefix).unwrap(), 16).unwrap()
    };
    assert_eq!(server.heads("POST").iter().map(carried).collect::<Vec<_>>(), [7, 7, 700]);
    let parameters = engine.facts().parameters.as_ref().unwrap();
    assert_eq!(parameters.session_header.as_deref(), Some("x-session-id"));
}
