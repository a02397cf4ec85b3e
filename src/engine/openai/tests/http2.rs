//! HTTP/2: streams of shared connections, their stamps, and how they end.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::sync::Notify;

use super::tls::acceptor;
use super::*;
use crate::engine::http_url::Http2;

/// One action of a server on the stream of a request.
#[derive(Clone)]
enum Step {
    Head(&'static [(&'static str, &'static str)]),
    Data(String),
    /// The end of the stream, with trailers.
    End(&'static [(&'static str, &'static str)]),
    Pause,
    Reset(Reason),
    /// Ends the connection: the server takes no more requests.
    GoAway,
    /// Ends it, with this error.
    Abort(Reason),
}

const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

fn good2(texts: &[&str]) -> Vec<Step> {
    let data = texts.iter().map(|text| delta(text)).chain([FINISH.to_owned(), DONE.to_owned()]);
    [vec![Step::Head(EVENTS)], data.map(Step::Data).collect(), vec![Step::End(&[])]].concat()
}

/// A server of HTTP/2 without TLS. The n-th POST gets the n-th script, further ones the last.
struct Server2 {
    url: String,
    /// Number of the connection of every POST, and its head.
    seen: Arc<Mutex<Vec<(usize, Request<()>)>>>,
    /// Streams that the client reset.
    cancelled: Arc<Mutex<Vec<Reason>>>,
}

async fn serve2(streams: u32, scripts: Vec<Vec<Step>>) -> Server2 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, cancelled, turns) = (Arc::default(), Arc::default(), Arc::new(AtomicUsize::new(0)));
    let server = Server2 { url, seen: Arc::clone(&seen), cancelled: Arc::clone(&cancelled) };
    tokio::spawn(async move {
        for number in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            let (scripts, seen, cancelled, turns) =
                (scripts.clone(), Arc::clone(&seen), Arc::clone(&cancelled), Arc::clone(&turns));
            tokio::spawn(async move {
                let Ok(mut connection) =
                    Builder::new().max_concurrent_streams(streams).handshake::<_, Bytes>(socket).await
                else {
                    return;
                };
                let ends = Arc::new(Notify::new());
                let errors = Arc::new(Mutex::new(None));
                loop {
                    let accepted = tokio::select! {
                        accepted = connection.accept() => accepted,
                        () = ends.notified() => {
                            match *errors.lock().unwrap() {
                                None => connection.graceful_shutdown(),
                                Some(reason) => connection.abrupt_shutdown(reason),
                            }
                            continue;
                        }
                    };
                    let Some(Ok((request, respond))) = accepted else { return };
                    let (head, body) = request.into_parts();
                    let script = if head.method == "GET" {
                        let list = r#"{"data":[{"id":"m"}]}"#.to_owned();
                        vec![Step::Head(&[("content-type", "application/json")]), Step::Data(list), Step::End(&[])]
                    } else {
                        seen.lock().unwrap().push((number, Request::from_parts(head, ())));
                        scripts[turns.fetch_add(1, Relaxed).min(scripts.len() - 1)].clone()
                    };
                    let (cancelled, ends, errors) = (Arc::clone(&cancelled), Arc::clone(&ends), Arc::clone(&errors));
                    tokio::spawn(async move {
                        converse2(body, respond, script, &cancelled, |reason| {
                            *errors.lock().unwrap() = reason;
                            ends.notify_one();
                        })
                        .await;
                    });
                }
            });
        }
    });
    server
}

async fn converse2(
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    script: Vec<Step>,
    cancelled: &Mutex<Vec<Reason>>,
    end: impl Fn(Option<Reason>),
) {
    while let Some(Ok(bytes)) = body.data().await {
        body.flow_control().release_capacity(bytes.len()).unwrap();
    }
    let mut sending = None;
    for step in script {
        match step {
            Step::Head(headers) => {
                let mut response = Response::new(());
                let fields = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
                *response.headers_mut() = fields.collect::<HeaderMap>();
                sending = respond.send_response(response, false).ok();
            }
            Step::Data(text) => sending.as_mut().unwrap().send_data(text.into(), false).unwrap_or_default(),
            Step::End(trailers) => {
                let fields = trailers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
                let trailers: HeaderMap = fields.collect();
                sending.as_mut().unwrap().send_trailers(trailers).unwrap_or_default();
            }
            Step::Pause => {
                let pause = tokio::time::sleep(Duration::from_millis(20));
                let reset = std::future::poll_fn(|cx| match &mut sending {
                    Some(sending) => sending.poll_reset(cx),
                    None => respond.poll_reset(cx),
                });
                tokio::select! {
                    () = pause => {}
                    reset = reset => {
                        cancelled.lock().unwrap().extend(reset);
                        return;
                    }
                }
            }
            Step::Reset(reason) => match &mut sending {
                Some(sending) => sending.send_reset(reason),
                None => respond.send_reset(reason),
            },
            Step::GoAway => end(None),
            Step::Abort(reason) => end(Some(reason)),
        }
    }
}

async fn engine2(server: &Server2, streams: u32) -> OpenAiEngine {
    let mut target = Target::new(server.url.parse().unwrap(), EngineKind::Vllm);
    target.api_key = Some(Secret::new("hunter2hunter2"));
    target.http2 = Http2::Always(streams);
    engine(target).await
}

/// The connections of the POSTs.
fn used(server: &Server2) -> Vec<usize> {
    server.seen.lock().unwrap().iter().map(|(connection, _)| *connection).collect()
}

#[tokio::test]
async fn an_answer_is_a_stream_with_a_stamp_for_each_frame() {
    let mut script = good2(&["a", "b", "c"]);
    script.insert(2, Step::Pause);
    let server = serve2(100, vec![script]).await;
    let engine = engine2(&server, 100).await;
    let (events, end) = ask(&engine).await;
    assert_eq!((end.result, end.finish_reason), (Ok(()), Some(FinishReason::Length)));
    let AnswerEvent::Sent { at: sent, .. } = events[0] else { panic!("{events:?}") };
    let AnswerEvent::Headers { at: head } = events[1] else { panic!("{events:?}") };
    let stamp = |event: &AnswerEvent| if let AnswerEvent::Chunk { at, .. } = event { Some(*at) } else { None };
    let stamps: Vec<_> = events.iter().filter_map(stamp).collect();
    assert!(sent <= head && head <= stamps[0] && stamps.is_sorted() && stamps[2] <= end.at, "{events:?}");
    assert!(stamps[1].since(stamps[0]) >= Duration::from_millis(15), "{events:?}");
    // What came in one read has one stamp, and is merged.
    assert_eq!(chunks(&events), [false, false, stamps[1] == stamps[2]]);
    let reads = engine.stream_reads().unwrap();
    assert!(reads.reads >= 2 && reads.shared == 0 && reads.most_streams == 1, "{reads:?}");
    let seen = server.seen.lock().unwrap();
    let head = &seen[0].1;
    let host = server.url.strip_prefix("http://").unwrap();
    assert_eq!((head.uri().path(), head.uri().authority().unwrap().as_str()), ("/v1/chat/completions", host));
    let named = |name| head.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(
        ["authorization", "content-length", "accept-encoding"].map(named),
        ["Bearer hunter2hunter2", "2", "identity"]
    );
    assert_eq!(named("x-request-id"), format!("{}00000000002a", engine.facts().request_id_prefix));
    assert_eq!(engine.facts().http2.unwrap().streams_per_connection, 100);
}

#[tokio::test]
async fn requests_share_connections_as_far_as_they_may() {
    // The client's limit, then the server's.
    for (streams, most, connections) in [(100, 4, 3), (4, 100, 3), (100, 100, 1)] {
        let server = serve2(streams, vec![[vec![Step::Pause], good2(&["a"])].concat()]).await;
        let engine = engine2(&server, most).await;
        engine.warm_up(12).await;
        let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
        assert!(together.iter().all(|(_, end)| end.result.is_ok()), "{together:?}");
        let mut used = used(&server);
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), connections, "{streams} and {most}");
        let opened = |(events, _): &(Vec<AnswerEvent>, AnswerEnd)| {
            matches!(events[0], AnswerEvent::Sent { opened_connection: true, .. })
        };
        assert!(streams < 100 || !together.iter().any(opened), "they were opened ahead");
    }
}

#[tokio::test]
async fn as_many_connections_as_are_wished_share_the_requests_evenly() {
    let server = serve2(100, vec![[vec![Step::Pause], good2(&["a"])].concat()]).await;
    let mut target = Target::new(server.url.parse().unwrap(), EngineKind::Vllm);
    (target.http2, target.connections.per_host) = (Http2::Always(100), Some(3));
    let engine = engine(target).await;
    engine.warm_up(1).await;
    let together = futures::future::join_all((0..12).map(|_| ask(&engine))).await;
    assert!(together.iter().all(|(_, end)| end.result.is_ok()));
    let mut used = used(&server);
    used.sort_unstable();
    assert_eq!(used.chunk_by(|a, b| a == b).map(<[usize]>::len).collect::<Vec<_>>(), [4, 4, 4]);
}

#[tokio::test]
async fn streams_in_one_read_are_counted() {
    // All answers wait for the last request, and come at once.
    let server = serve2(100, vec![[vec![Step::Pause; 3], good2(&["a"])].concat()]).await;
    let engine = engine2(&server, 100).await;
    engine.warm_up(1).await;
    let together = futures::future::join_all((0..8).map(|_| ask(&engine))).await;
    assert!(together.iter().all(|(_, end)| end.result.is_ok()));
    let reads = engine.stream_reads().unwrap();
    assert!(reads.shared > 0 && (2..=8).contains(&reads.most_streams) && reads.shared <= reads.reads, "{reads:?}");
}

#[tokio::test]
async fn a_stream_that_the_server_ends_fails_with_its_code() {
    let begun = || vec![Step::Head(EVENTS), Step::Data(delta("a")), Step::Pause];
    for (steps, kind, words) in [
        (
            vec![Step::Reset(Reason::INTERNAL_ERROR)],
            FailureKind::Reset,
            "the server reset the stream (INTERNAL_ERROR) before it answered",
        ),
        (
            vec![Step::Reset(Reason::REFUSED_STREAM)],
            FailureKind::Reset,
            "the server reset the stream (REFUSED_STREAM) before it answered",
        ),
        (
            [begun(), vec![Step::Reset(Reason::ENHANCE_YOUR_CALM)]].concat(),
            FailureKind::Reset,
            "after 1 chunk with text (the server reset the stream (ENHANCE_YOUR_CALM))",
        ),
        ([begun(), vec![Step::Abort(Reason::INTERNAL_ERROR)]].concat(), FailureKind::Reset, "after 1 chunk"),
        ([begun(), vec![Step::End(&[])]].concat(), FailureKind::Truncated, "without a finish reason"),
    ] {
        let server = serve2(100, vec![steps]).await;
        let failure = ask(&engine2(&server, 100).await).await.1.result.unwrap_err();
        assert!(failure.reason == kind && failure.message.contains(words), "{failure} is not {kind}: {words}");
    }
}

#[tokio::test]
async fn a_request_that_the_server_did_not_look_at_is_sent_again_once() {
    let refused = vec![Step::Reset(Reason::REFUSED_STREAM)];
    let server = serve2(100, vec![refused.clone(), good2(&["a"]), refused.clone(), refused]).await;
    let engine = engine2(&server, 100).await;
    let (events, end) = ask(&engine).await;
    assert_eq!(end.result, Ok(()));
    let said = |event| events.contains(event);
    assert!(said(&AnswerEvent::Reconnects) && !said(&AnswerEvent::Resent), "it had not had it: {events:?}");
    let used = used(&server);
    assert!(used.len() == 2 && used[0] != used[1], "over a new connection: {used:?}");
    let again = ask(&engine).await.1.result.unwrap_err();
    assert!(again.message.contains("REFUSED_STREAM") && server.seen.lock().unwrap().len() == 4, "{again}");
}

#[tokio::test]
async fn a_connection_that_the_server_leaves_ends_with_its_streams() {
    let server =
        serve2(100, vec![[vec![Step::GoAway, Step::Pause, Step::Pause], good2(&["a"])].concat(), good2(&["b"])]).await;
    let engine = engine2(&server, 100).await;
    let first = ask(&engine);
    let second = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        ask(&engine).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.1.result, second.1.result), (Ok(()), Ok(())));
    let used = used(&server);
    assert!(used[0] != used[1], "{used:?}");
    assert!(second.0.contains(&AnswerEvent::Reconnects), "{:?}", second.0);
}

#[tokio::test]
async fn a_cancelled_request_resets_its_stream_and_no_other() {
    let slow = [vec![Step::Head(EVENTS), Step::Data(delta("a"))], vec![Step::Pause; 250]].concat();
    let other = [vec![Step::Pause; 5], good2(&["b"])].concat();
    let server = serve2(100, vec![slow, other]).await;
    let engine = engine2(&server, 100).await;
    let request = PreparedRequest::new(0, engine_body());
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    while !matches!(answer.next().await, AnswerEvent::Chunk { .. }) {}
    let other = async {
        tokio::task::yield_now().await;
        drop(answer);
        ask(&engine).await.1.result
    };
    assert_eq!(other.await, Ok(()));
    assert_eq!(*server.cancelled.lock().unwrap(), [Reason::CANCEL]);
    assert_eq!(used(&server), [used(&server)[0]; 2]);
}

#[tokio::test]
async fn trailers_tell_a_failure_of_grpc() {
    let mut script = good2(&["a"]);
    *script.last_mut().unwrap() = Step::End(&[("grpc-status", "13"), ("grpc-message", "worker%20lost")]);
    script.remove(script.len() - 2);
    let server = serve2(100, vec![script]).await;
    let failure = ask(&engine2(&server, 100).await).await.1.result.unwrap_err();
    assert_eq!(failure.message, "grpc-status 13 (INTERNAL): worker lost");
}

#[tokio::test]
async fn a_server_that_speaks_http_1_alone_is_refused_with_the_cure() {
    let server = serve(vec![good(&["a"])]).await;
    let mut target = target(&server);
    target.http2 = Http2::Always(100);
    let error = OpenAiEngine::connect(target.clone(), Duration::ZERO, |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("does not speak HTTP/2 at this port") && error.contains("leave --http2 out"), "{error}");
    target.http2 = Http2::IfOffered(100);
    let engine = engine(target).await;
    assert_eq!((ask(&engine).await.1.result, engine.facts().http2), (Ok(()), None));
}

#[tokio::test]
async fn tls_agrees_on_the_protocol() {
    for (offered, asked, spoken) in [
        (&["h2", "http/1.1"][..], Http2::IfOffered(7), Some(true)),
        (&["http/1.1"], Http2::IfOffered(7), Some(false)),
        (&["h2", "http/1.1"], Http2::Never, Some(false)),
        (&["h2"], Http2::Always(7), Some(true)),
        (&["http/1.1"], Http2::Always(7), None),
        (&[], Http2::Always(7), None),
    ] {
        let acceptor = acceptor(offered);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let Ok(mut socket) = acceptor.accept(socket).await else { continue };
                tokio::spawn(async move {
                    if socket.get_ref().1.alpn_protocol() == Some(b"h2") {
                        let Ok(mut connection) = Builder::new().handshake::<_, Bytes>(socket).await else { return };
                        while let Some(Ok((request, mut respond))) = connection.accept().await {
                            let body = if request.method() == "GET" { r#"{"data":[{"id":"m"}]}"# } else { "" };
                            let mut sending = respond.send_response(Response::new(()), false).unwrap();
                            sending.send_data(Bytes::from_static(body.as_bytes()), true).unwrap();
                        }
                        return;
                    }
                    while let Some(request) = server::read_request(&mut socket).await {
                        let list = json(200, r#"{"data":[{"id":"m"}]}"#);
                        let answer = if request.starts_with("GET") { list } else { json(200, "") };
                        socket.write_all(&answer).await.unwrap();
                    }
                });
            }
        });
        let mut target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
        target.tls.check = crate::engine::target::CertificateCheck::Skipped;
        target.http2 = asked;
        match OpenAiEngine::connect(target, Duration::ZERO, |_| ()).await {
            Ok(engine) => {
                assert_eq!(Some(engine.facts().http2.is_some()), spoken, "{offered:?} {asked:?}");
                assert!(ask(&engine).await.1.result.is_err(), "an answer of nothing");
            }
            Err(error) => {
                let error = error.to_string();
                assert!(spoken.is_none() && error.contains("leave --http2 out"), "{offered:?} {asked:?}: {error}");
            }
        }
    }
}
