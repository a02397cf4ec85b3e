//! A toy protocol from its requests to their records: their bodies, their answers and their work are its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::{PATIENT, execute, window};
use crate::engine::{ECHO, OpenAiEngine, Target};
use crate::record::{EngineKind, Outcome, WorkKind};

/// The address of a server that speaks the toy, and the requests that it gets.
fn echo_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&seen);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let requests = Arc::clone(&requests);
            thread::spawn(move || while answer(&mut BufReader::new(socket.as_ref().unwrap()), &requests).is_some() {});
        }
    });
    (url, seen)
}

/// Answers one request; `None` where the client has gone.
fn answer(socket: &mut BufReader<&TcpStream>, requests: &Mutex<Vec<String>>) -> Option<()> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if socket.read_line(&mut head).ok()? == 0 {
            return None;
        }
        match head[start..].trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
            None if head.ends_with("\r\n\r\n") => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).ok()?;
    let (kind, said) = if head.starts_with("GET") {
        ("application/json", r#"{"data":[{"id":"m"}]}"#)
    } else {
        let line = head.lines().next().unwrap();
        requests.lock().unwrap().push(format!("{line} {}", String::from_utf8(body).unwrap()));
        let words = "event: word\ndata: {\"word\":\"hello \"}\n\n";
        ("text/event-stream", &*format!("{words}data: {{\"word\":\"you\"}}\n\ndata: bye\n\n").leak())
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", said.len());
    socket.get_mut().write_all(format!("{head}{said}").as_bytes()).ok()
}

#[tokio::test]
async fn a_toy_protocol_goes_from_a_request_to_its_record() {
    let (url, requests) = echo_server();
    let mut target = Target::new(url.parse().unwrap(), EngineKind::Openai);
    target.endpoint = &ECHO;
    let engine = OpenAiEngine::connect(target, Duration::from_secs(5), |_| ()).await.unwrap();
    let run = Box::pin(execute(engine, 5, 10, PATIENT, &[])).await;
    let records = window(&run);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Completed);
        assert_eq!((record.output_tokens, record.chunks.tokens(), record.work), (2, 2, WorkKind::None));
    }
    assert_eq!(records.len(), 2);
    let body = r#"{"model":"m","stream":true,"temperature":0.0,"most_words":4,"say":"hello"}"#;
    assert_eq!(requests.lock().unwrap()[0], format!("POST /v1/echo HTTP/1.1 {body}"));
}
