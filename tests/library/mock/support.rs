//! A mock of known latencies, and a client that sees every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use skyline::mock::{Backend, MockOptions, MockServer};
use skyline::simulator::Delay;

/// A quick mock: first token after 10 ms, then one every 2 ms.
pub(crate) fn quick(options: MockOptions) -> MockServer {
    fixed(0.01, 0.002, options)
}

/// A mock with these latencies in seconds.
pub(crate) fn fixed(ttft: f64, gap: f64, options: MockOptions) -> MockServer {
    let backend = Backend::fixed(64, Delay::Constant(ttft), Delay::Constant(gap), 0);
    start(backend, options)
}

/// A mock of this engine on a free port.
pub(crate) fn start(backend: Backend, options: MockOptions) -> MockServer {
    MockServer::start(backend, options, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap()
}

/// A chat of `tokens` tokens, streamed with usage.
pub(crate) fn chat(tokens: u32) -> Value {
    json!({ "model": "mock", "messages": [{ "role": "user", "content": "tell me a story" }],
            "max_tokens": tokens, "ignore_eos": true, "stream": true,
            "stream_options": { "include_usage": true } })
}

/// The same request for an answer in one piece.
pub(crate) fn in_one_piece(mut body: Value) -> Value {
    body["stream"] = false.into();
    body.as_object_mut().unwrap().remove("stream_options");
    body
}

/// How the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    Clean,
    Reset,
    /// Nothing more came for three seconds.
    Silence,
}

/// What came back, byte by byte.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Without the framing of chunked encoding, if it was whole.
    pub(crate) body: String,
    /// What the mock wrote at a time, as chunked encoding tells it: reads may have several together on a busy machine.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// Bytes that came.
    pub(crate) bytes: usize,
    pub(crate) close: Close,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The `data:` lines that are JSON objects.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.body
            .lines()
            .filter_map(|line| serde_json::from_str(line.trim_end().strip_prefix("data: ")?).ok())
            .collect()
    }

    /// The text of the first choice.
    pub(crate) fn text(&self) -> String {
        let of = |event: &Value| {
            let choice = &event["choices"][0];
            let text = choice["delta"]["content"].as_str().or_else(|| choice["text"].as_str());
            text.unwrap_or("").to_owned()
        };
        self.events().iter().map(of).collect()
    }
}

pub(crate) fn get(server: &MockServer, path: &str) -> Seen {
    ask(server, "GET", path, "", "")
}

pub(crate) fn post(server: &MockServer, path: &str, body: &Value) -> Seen {
    ask(server, "POST", path, "", &body.to_string())
}

pub(crate) fn chat_with(server: &MockServer, fault: &str, body: &Value) -> Seen {
    let header = format!("x-skyline-fault: {fault}\r\n");
    ask(server, "POST", "/v1/chat/completions", &header, &body.to_string())
}

/// Sends a request and leaves the socket open.
pub(crate) fn send(server: &MockServer, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    // A refused connection may be gone by now; reading tells.
    let _ = socket.write_all(request.as_bytes());
    socket
}

/// Sends a request and reads until the connection ends, or nothing comes for six seconds.
pub(crate) fn ask(server: &MockServer, method: &str, path: &str, headers: &str, body: &str) -> Seen {
    let mut socket = send(server, method, path, headers, body);
    socket.set_read_timeout(Some(Duration::from_secs(6))).unwrap();
    let (mut reads, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let close = loop {
        match socket.read(&mut buffer) {
            Ok(0) => break Close::Clean,
            Ok(count) => reads.push(buffer[..count].to_vec()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break Close::Reset,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break Close::Silence;
            }
            Err(error) => panic!("{error}"),
        }
    };
    let bytes = reads.concat();
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
    let raw = bytes.get(at + 4..).unwrap_or_default();
    let chunks = if head.contains("transfer-encoding: chunked") { dechunk(raw) } else { vec![raw.to_vec()] };
    Seen {
        status: head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0),
        body: String::from_utf8_lossy(&chunks.concat()).into_owned(),
        head,
        chunks,
        bytes: bytes.len(),
        close,
    }
}

/// As much as came of a chunked body.
fn dechunk(mut raw: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    while let Some(line) = raw.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&raw[..line]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        let rest = &raw[line + 2..];
        chunks.push(rest[..size.min(rest.len())].to_vec());
        raw = rest.get(size + 2..).unwrap_or_default();
    }
    chunks
}

/// The truth log's records, when all `expected` requests have ended.
pub(crate) fn records(server: &MockServer, expected: usize) -> Vec<Value> {
    for _ in 0..6_000 {
        let text = get(server, "/mock/truth").body;
        let lines: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        if lines.len() >= expected {
            return lines;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{expected} requests did not end: {}", get(server, "/mock/truth").body)
}

/// The value of a series of `/metrics`: the sum over its labels.
pub(crate) fn metric(server: &MockServer, name: &str) -> f64 {
    let text = get(server, "/metrics").body;
    let values = text.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        (series.split('{').next() == Some(&format!("vllm:{name}"))).then(|| value.parse::<f64>().unwrap())
    });
    values.sum()
}
