//! A server of HTTP/2 that follows a script.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::sync::Notify;

use super::super::*;
use crate::engine::http_url::Http2;

/// One action of a server on the stream of a request.
#[derive(Clone)]
pub(super) enum Step {
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
    /// Reads and says nothing on it any more.
    Freeze,
}

pub(super) const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

pub(super) fn good2(texts: &[&str]) -> Vec<Step> {
    let data = texts.iter().map(|text| delta(text)).chain([FINISH.to_owned(), DONE.to_owned()]);
    [vec![Step::Head(EVENTS)], data.map(Step::Data).collect(), vec![Step::End(&[])]].concat()
}

/// A server of HTTP/2 without TLS. The n-th POST gets the n-th script, further ones the last.
pub(super) struct Server2 {
    pub(super) url: String,
    /// Number of the connection of every POST, and its head.
    pub(super) seen: Arc<Mutex<Vec<(usize, Request<()>)>>>,
    /// Streams that the client reset.
    pub(super) cancelled: Arc<Mutex<Vec<Reason>>>,
}

pub(super) async fn serve2(streams: u32, scripts: Vec<Vec<Step>>) -> Server2 {
    serve2_at(TcpListener::bind("127.0.0.1:0").await.unwrap(), streams, scripts)
}

pub(super) fn serve2_at(listener: TcpListener, streams: u32, scripts: Vec<Vec<Step>>) -> Server2 {
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
                let ending = Arc::new(Mutex::new(Step::GoAway));
                loop {
                    let accepted = tokio::select! {
                        accepted = connection.accept() => accepted,
                        () = ends.notified() => {
                            let ending = ending.lock().unwrap().clone();
                            match ending {
                                Step::Freeze => std::future::pending().await,
                                Step::Abort(reason) => connection.abrupt_shutdown(reason),
                                _ => connection.graceful_shutdown(),
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
                    let (cancelled, ends, ending) = (Arc::clone(&cancelled), Arc::clone(&ends), Arc::clone(&ending));
                    tokio::spawn(async move {
                        converse2(body, respond, script, &cancelled, |step| {
                            *ending.lock().unwrap() = step;
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

pub(super) async fn converse2(
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    script: Vec<Step>,
    cancelled: &Mutex<Vec<Reason>>,
    end: impl Fn(Step),
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
            Step::GoAway | Step::Abort(_) | Step::Freeze => end(step),
        }
    }
}

pub(super) async fn engine2(server: &Server2, streams: u32) -> OpenAiEngine {
    engine(target2(&server.url, streams)).await
}

pub(super) fn target2(url: &str, streams: u32) -> Target {
    let mut target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
    target.api_key = Some(Secret::new("hunter2hunter2"));
    target.http2 = Http2::Always(streams);
    target
}

/// Sends a request, and gives it up after 30 ms.
pub(super) async fn give_up(engine: &OpenAiEngine) {
    tokio::time::timeout(Duration::from_millis(30), ask(engine)).await.unwrap_err();
    // The time of a question whether the server is there.
    tokio::time::sleep(Duration::from_millis(30)).await;
}

/// The connections of the POSTs.
pub(super) fn used(server: &Server2) -> Vec<usize> {
    server.seen.lock().unwrap().iter().map(|(connection, _)| *connection).collect()
}
