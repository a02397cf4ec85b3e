//! HTTP/2: streams of shared connections, their stamps, and how they end.

mod lanes;
mod server;

use bytes::Bytes;
use h2::Reason;
use h2::server::Builder;
use http::Response;

use self::server::*;
use super::tls::acceptor;
use super::*;
use crate::engine::ReaderRest;
use crate::engine::http_url::Http2;

#[tokio::test]
async fn an_answer_is_a_stream_with_a_stamp_for_each_frame() {
    let mut script = good2(&["a", "b", "c"]);
    script.insert(2, Step::Pause);
    let server = serve2(100, vec![script]).await;
    ReaderRest::renew();
    let engine = engine2(&server, 100).await;
    assert!(ReaderRest::is_bound(), "several streams may have packets in one read");
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
                    while let Some(request) = super::server::read_request(&mut socket).await {
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
