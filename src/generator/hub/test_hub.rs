//! A hub that gives answers which a test wrote.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

/// Serves these answers, one a connection, and gives the requests that it saw.
pub(in crate::generator) fn serve(listener: TcpListener, answers: Vec<String>) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let answer = |text: String| {
            let mut socket = listener.accept().unwrap().0;
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            socket.write_all(text.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        };
        answers.into_iter().map(answer).collect()
    })
}

pub(in crate::generator) fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
