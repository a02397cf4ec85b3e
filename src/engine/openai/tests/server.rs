//! Servers scripted byte by byte.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

/// One action of a server.
#[derive(Clone)]
pub(super) enum Act {
    Send(Vec<u8>),
    Pause,
    Close,
    Reset,
}

pub(super) fn send(text: &str) -> Act {
    Act::Send(text.as_bytes().to_vec())
}

/// A server on its own port. The n-th POST gets the n-th script, further ones the last; GETs are answered as
/// vLLM would.
pub(super) struct Server {
    pub(super) url: String,
    /// Number of the connection, and the whole request, of every POST.
    pub(super) seen: Arc<Mutex<Vec<(usize, String)>>>,
    /// Every GET.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
    /// Numbers of the connections that the client closed.
    pub(super) closed: Arc<Mutex<Vec<usize>>>,
    /// Makes the server close all connections that wait for a request.
    pub(super) hang_up: Arc<Notify>,
    /// Ends its listening.
    pub(super) stop: AbortHandle,
}

pub(super) async fn serve(scripts: Vec<Vec<Act>>) -> Server {
    serve_with(Semaphore::MAX_PERMITS, scripts).await
}

/// Starts a server of at most `places` connections. One more waits until another is closed.
pub(super) async fn serve_with(places: usize, scripts: Vec<Vec<Act>>) -> Server {
    serve_at(TcpListener::bind("127.0.0.1:0").await.unwrap(), places, scripts)
}

/// Starts such a server at this port.
pub(super) fn serve_at(listener: TcpListener, places: usize, scripts: Vec<Vec<Act>>) -> Server {
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let closed = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (scripts, log, ends) = (Arc::new(scripts), Arc::clone(&seen), Arc::clone(&closed));
    let gets = Arc::clone(&asked);
    let hang_up = Arc::new(Notify::new());
    let word = Arc::clone(&hang_up);
    let places = Arc::new(Semaphore::new(places));
    let listening = tokio::spawn(async move {
        for number in 0.. {
            let place = Arc::clone(&places).acquire_owned().await.unwrap();
            let (socket, _) = listener.accept().await.unwrap();
            let (scripts, log, ends) = (Arc::clone(&scripts), Arc::clone(&log), Arc::clone(&ends));
            let (gets, word) = (Arc::clone(&gets), Arc::clone(&word));
            tokio::spawn(async move {
                let _place = place;
                if converse(socket, number, scripts, log, gets, word).await == Closer::Client {
                    ends.lock().unwrap().push(number);
                }
            });
        }
    });
    Server { url, seen, asked, closed, hang_up, stop: listening.abort_handle() }
}

async fn converse(
    mut socket: TcpStream,
    number: usize,
    scripts: Arc<Vec<Vec<Act>>>,
    log: Arc<Mutex<Vec<(usize, String)>>>,
    gets: Arc<Mutex<Vec<String>>>,
    hang_up: Arc<Notify>,
) -> Closer {
    loop {
        let request = tokio::select! {
            request = read_request(&mut socket) => request,
            () = hang_up.notified() => return Closer::Server,
        };
        let Some(request) = request else { return Closer::Client };
        if request.starts_with("GET") {
            gets.lock().unwrap().push(request.clone());
        }
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
                Act::Close => return Closer::Server,
                Act::Reset => {
                    socket.set_zero_linger().unwrap();
                    return Closer::Server;
                }
            }
        }
    }
}

/// The side that ended a connection.
#[derive(PartialEq, Eq)]
enum Closer {
    Client,
    Server,
}

pub(super) async fn read_request<S: AsyncRead + Unpin>(socket: &mut S) -> Option<String> {
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

pub(super) fn json(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

pub(super) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn chunk(text: &str) -> Act {
    send(&format!("{:x}\r\n{text}\r\n", text.len()))
}

pub(super) fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

pub(super) const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// A good answer of `texts`, each in its own chunk.
pub(super) fn good(texts: &[&str]) -> Vec<Act> {
    let mut acts = vec![send(STREAM)];
    acts.extend(texts.iter().map(|text| chunk(&delta(text))));
    acts.extend([chunk(FINISH), chunk(DONE), send("0\r\n\r\n")]);
    acts
}

/// Returns the address of a server that answers every request with the same bytes. It keeps its connections open.
pub(super) async fn repeat(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            tokio::spawn(async move {
                while read_request(&mut socket).await.is_some() {
                    // A client may close on an answer that is too long.
                    if socket.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Starts a server that answers each request line by `answer`. Returns its address, and the lines of all requests.
pub(super) async fn pages(answer: fn(&str) -> Vec<u8>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                while let Some(request) = read_request(&mut socket).await {
                    let line = request.lines().next().unwrap_or_default().to_owned();
                    let bytes = answer(&line);
                    seen.lock().unwrap().push(line);
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, lines)
}
