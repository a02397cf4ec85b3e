//! One connection of the reference server: it reads requests and streams answers.
//!
//! A request's prompt says how to answer it: `50 5000000` means fifty tokens, one every five milliseconds,
//! each written by itself; a gap of 0 means all at once.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use mio::net::TcpStream;

use super::stream::{self, MODEL, ServerEvent};
use crate::clock::{RunClock, Timestamp};

/// A connection and its state.
#[derive(Debug)]
pub(super) struct ServerConnection {
    socket: TcpStream,
    /// The bytes of an incomplete request.
    incoming: Vec<u8>,
    /// Bytes that the socket could not take yet.
    outgoing: Vec<u8>,
    /// The paced answer under way.
    pub(super) stream: Option<Stream>,
}

/// A paced answer.
#[derive(Debug)]
pub(super) struct Stream {
    /// Index of its request in the schedule.
    pub(super) index: u64,
    tokens: u32,
    gap: Duration,
    /// When the next token is due.
    pub(super) due: Timestamp,
    /// When the write of each token began.
    pub(super) writes: Vec<Timestamp>,
}

impl ServerConnection {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self { socket, incoming: Vec::new(), outgoing: Vec::new(), stream: None }
    }

    /// Reads what has come and sends what is left; an error when the connection is over.
    pub(super) fn poll(&mut self, clock: RunClock) -> io::Result<()> {
        self.flush()?;
        let mut buffer = [0; 4096];
        loop {
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.incoming.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some(request) = Request::take(&mut self.incoming) {
            self.answer(&request, clock)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request, clock: RunClock) -> io::Result<()> {
        let Some((index, tokens, gap)) = request.answer_wanted() else {
            // Other requests: health, models, version.
            let body = format!(
                "{{\"object\":\"list\",\"data\":[{{\"id\":\"{MODEL}\",\"object\":\"model\"}}],\"version\":\"0\"}}"
            );
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
            let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            self.outgoing.extend_from_slice(response.as_bytes());
            return self.flush();
        };
        stream::head(&mut self.outgoing);
        stream::event(&mut self.outgoing, ServerEvent::Role);
        if gap.is_zero() {
            (1..=tokens)
                .for_each(|place| stream::event(&mut self.outgoing, ServerEvent::Token(place, tokens)));
            self.close(tokens);
        } else {
            let due = clock.now().after(gap);
            self.stream = Some(Stream { index, tokens, gap, due, writes: Vec::new() });
        }
        self.flush()
    }

    /// Writes the token that is due. After the last one, writes the answer's end and returns the answer.
    pub(super) fn write_due(&mut self, clock: RunClock) -> io::Result<Option<Stream>> {
        let Some(mut stream) = self.stream.take() else { return Ok(None) };
        let place = stream.writes.len() as u32 + 1;
        stream::event(&mut self.outgoing, ServerEvent::Token(place, stream.tokens));
        stream.writes.push(clock.now());
        self.flush()?;
        if place == stream.tokens {
            self.close(stream.tokens);
            self.flush()?;
            return Ok(Some(stream));
        }
        // Counted from the last due time, so that a late write delays no later one.
        stream.due = stream.due.after(stream.gap);
        self.stream = Some(stream);
        Ok(None)
    }

    fn close(&mut self, tokens: u32) {
        stream::event(&mut self.outgoing, ServerEvent::Usage(tokens));
        stream::event(&mut self.outgoing, ServerEvent::Done);
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut taken = 0;
        let ended = loop {
            if taken == self.outgoing.len() {
                break Ok(());
            }
            match self.socket.write(&self.outgoing[taken..]) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.outgoing.drain(..taken);
        ended
    }
}

/// A complete request as it came.
#[derive(Debug)]
struct Request(String);

impl Request {
    /// Takes the first request from `bytes` if it is complete.
    fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let length = header(&String::from_utf8_lossy(&bytes[..head]), "content-length")
            .map_or(0, |length| length.parse().unwrap_or(0));
        (bytes.len() >= head + length)
            .then(|| Self(String::from_utf8_lossy(&bytes.drain(..head + length).collect::<Vec<_>>()).into()))
    }

    /// Index, tokens and gap, if the request asks for an answer.
    fn answer_wanted(&self) -> Option<(u64, u32, Duration)> {
        let (head, body) = self.0.split_once("\r\n\r\n")?;
        let (_, prompt) = body.split_once("\"content\":\"")?;
        let (tokens, gap) = prompt.split_once('"')?.0.split_once(' ')?;
        // The last part of a request's id is its index.
        let index = u64::from_str_radix(header(head, "x-request-id")?.rsplit('-').next()?, 16).ok()?;
        Some((index, tokens.parse().ok()?, Duration::from_nanos(gap.parse().ok()?)))
    }
}

/// The value of the header `name`.
fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
