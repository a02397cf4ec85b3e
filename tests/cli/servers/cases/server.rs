//! A scripted server: what it answers to requests for generation is a case's, all else is that of a healthy one.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Case;
use super::script::{GOOD, Step, steps, unescaped};

/// Fewest tokens that a request of the run asks for; those of test requests are fewer.
const OF_RUN: usize = 8;

/// What stands around an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Frame {
    status: String,
    /// Absent where empty.
    media: String,
    /// More headers, each with its line end; `$date+60` is the time of day in so many seconds.
    headers: String,
    body: Framing,
    /// A head in place of all these, with escapes.
    head: Option<String>,
    /// Sent before the head, with escapes.
    before: String,
    /// Headers behind a chunked body.
    trailer: String,
    /// How long after the answer the connection is closed, milliseconds; absent: it stays.
    close_ms: Option<u64>,
    /// The head comes byte by byte.
    slow_head: bool,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            status: "200 OK".to_owned(),
            media: "text/event-stream".to_owned(),
            headers: String::new(),
            body: Framing::Chunked,
            head: None,
            before: String::new(),
            trailer: String::new(),
            close_ms: None,
            slow_head: false,
        }
    }
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Framing {
    Chunked,
    /// Chunks with extensions.
    Extended,
    /// A chunk for each byte.
    Bytewise,
    /// One chunk for all of it.
    Whole,
    /// Stored blocks of gzip.
    Gzip,
    /// `content-length`.
    Length,
    /// The same, 60 bytes too small, or too large.
    Short,
    Long,
    /// The connection is closed.
    Close,
    /// Nothing of a body.
    Nothing,
}

/// A page beside the answers; in its text `<5000+48k>` grows by 48 with each answer, `<9000+1g>` with each token.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    #[serde(default = "ok")]
    status: String,
    #[serde(default = "plain")]
    media: String,
    text: String,
}

fn ok() -> String {
    "200 OK".to_owned()
}

fn plain() -> String {
    "text/plain".to_owned()
}

/// What a server has to answer, and what it has answered.
pub(super) struct Scripted {
    answer: String,
    bad: Option<(String, Frame)>,
    every: usize,
    frame: Frame,
    pages: BTreeMap<String, Page>,
    answers_a_connection: usize,
    refused: Vec<(String, String, Frame)>,
    of_run: AtomicUsize,
    /// Bodies of requests for generation.
    asked: Arc<Mutex<String>>,
    /// Prompts that came.
    prompts: Mutex<HashSet<String>>,
    /// Answers, and their tokens.
    answered: Mutex<(usize, usize)>,
}

impl Scripted {
    pub(super) fn from_case(case: &Case) -> Self {
        let refused = case
            .when
            .iter()
            .map(|when| (when.asked.clone(), when.answer.clone(), when.frame.clone().unwrap_or_default()));
        let frame = case.frame.clone().unwrap_or_default();
        let bad_frame = case.bad_frame.clone().unwrap_or_else(|| frame.clone());
        let bad = case.bad.clone().or_else(|| case.bad_frame.as_ref().map(|_| GOOD.to_owned()));
        Self {
            answer: case.answer.clone().unwrap_or_else(|| GOOD.to_owned()),
            bad: bad.map(|script| (script, bad_frame)),
            every: case.every,
            frame,
            pages: case.pages.clone(),
            answers_a_connection: case.answers_a_connection,
            refused: refused.collect(),
            of_run: AtomicUsize::new(0),
            asked: Arc::default(),
            prompts: Mutex::default(),
            answered: Mutex::new((0, 0)),
        }
    }

    /// The bodies of the requests for generation that came, as far as it has been asked.
    pub(super) fn asked(&self) -> Arc<Mutex<String>> {
        Arc::clone(&self.asked)
    }

    /// Starts it on a free port; it lives until the test process ends.
    pub(super) fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::new(self);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let server = Arc::clone(&server);
                std::thread::spawn(move || server.serve(socket.unwrap()));
            }
        });
        format!("http://{address}")
    }

    fn serve(&self, mut socket: TcpStream) {
        let _ = socket.set_nodelay(true);
        let mut read = Vec::new();
        let mut answered = 0;
        while let Some((head, body)) = next_request(&mut socket, &mut read) {
            let mut words = head.split_whitespace();
            let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let path = target.split('?').next().unwrap_or("");
            let goes_on = if method == "POST" && path.ends_with("completions") {
                answered += 1;
                answered <= self.answers_a_connection && self.answer(&body, &mut socket)
            } else {
                socket.write_all(&self.page(path)).is_ok()
            };
            if !goes_on {
                return;
            }
        }
    }

    fn page(&self, path: &str) -> Vec<u8> {
        let (status, media, text) = match (self.pages.get(path), path) {
            (Some(page), _) => (page.status.as_str(), page.media.as_str(), self.counted(&page.text)),
            (None, "/health") => ("200 OK", "text/plain", String::new()),
            (None, "/v1/models") => ("200 OK", "application/json", r#"{"data":[{"id":"toy"}]}"#.to_owned()),
            (None, _) => ("404 Not Found", "application/json", "{}".to_owned()),
        };
        let length = text.len();
        format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n{text}").into_bytes()
    }

    /// A page with its counters.
    fn counted(&self, text: &str) -> String {
        let (answers, tokens) = *self.answered.lock().unwrap();
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            let counter = after.split_once('>').and_then(|(counter, after)| {
                let (from, step) = counter.split_once('+')?;
                let each = if step.ends_with('k') { answers } else { tokens };
                let step: usize = step.strip_suffix(['k', 'g'])?.parse().ok()?;
                Some((from.parse::<usize>().ok()? + step * each, after))
            });
            out.push_str(before);
            rest = if let Some((value, after)) = counter {
                out.push_str(&value.to_string());
                after
            } else {
                out.push('<');
                after
            };
        }
        out + rest
    }

    /// Answers a request for generation; whether the connection stays.
    fn answer(&self, body: &[u8], socket: &mut TcpStream) -> bool {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let limit = ["max_tokens", "max_completion_tokens"].iter().find_map(|name| request[name].as_u64());
        let n = limit.map_or(OF_RUN, |limit| limit as usize);
        let of_run = n >= OF_RUN;
        let place = if of_run { self.of_run.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
        let asked = String::from_utf8_lossy(body);
        self.asked.lock().unwrap().push_str(&asked);
        let (script, frame) = match (self.refused.iter().find(|(words, ..)| asked.contains(words)), &self.bad) {
            (Some((_, script, frame)), _) => (script, frame),
            (None, Some((script, frame))) if of_run && place % self.every == 0 => (script, frame),
            _ => (&self.answer, &self.frame),
        };
        let is_new = self.prompts.lock().unwrap().insert(request["messages"].to_string());
        let script = script.replace("$cached", if is_new { "0" } else { "16" });
        let sent = frame.send(steps(&script, n), socket);
        let mut answered = self.answered.lock().unwrap();
        (answered.0, answered.1) = (answered.0 + 1, answered.1 + n);
        drop(answered);
        if let (Ok(true), Some(ms)) = (&sent, frame.close_ms) {
            std::thread::sleep(Duration::from_millis(ms));
            return false;
        }
        matches!(sent, Ok(true)) && !matches!(frame.body, Framing::Close | Framing::Long)
    }
}

impl Frame {
    /// Sends the steps; false where they end the connection.
    fn send(&self, steps: Vec<Step>, socket: &mut TcpStream) -> std::io::Result<bool> {
        let all = || -> Vec<u8> {
            let sent = steps.iter().filter_map(|step| if let Step::Send(bytes) = step { Some(bytes) } else { None });
            sent.flatten().copied().collect()
        };
        let (length, whole) = (all().len(), all());
        socket.write_all(&unescaped(&self.before))?;
        let head = self.head(length);
        if self.slow_head {
            for byte in &head {
                socket.write_all(&[*byte])?;
                std::thread::sleep(Duration::from_millis(1));
            }
        } else {
            socket.write_all(&head)?;
        }
        if self.body == Framing::Gzip {
            socket.write_all(&chunk(b"\x1f\x8b\x08\0\0\0\0\0\0\xff"))?;
        }
        let steps = if self.body == Framing::Whole { vec![Step::Send(whole.clone())] } else { steps };
        for step in steps {
            match step {
                Step::Wait(pause) => std::thread::sleep(pause),
                Step::Close => return Ok(false),
                Step::Reset => {
                    rustix::net::sockopt::set_socket_linger(&*socket, Some(Duration::ZERO))?;
                    return Ok(false);
                }
                Step::Send(bytes) => self.piece(&bytes, socket)?,
            }
        }
        match self.body {
            Framing::Gzip => {
                let mut end = vec![1, 0, 0, 0xff, 0xff];
                end.extend(crc32fast::hash(&whole).to_le_bytes());
                end.extend((length as u32).to_le_bytes());
                socket.write_all(&chunk(&end))?;
                socket.write_all(b"0\r\n\r\n")?;
            }
            Framing::Extended => socket.write_all(b"0;last=1\r\n\r\n")?,
            Framing::Chunked | Framing::Bytewise | Framing::Whole => {
                socket.write_all(format!("0\r\n{}\r\n", self.trailer).as_bytes())?;
            }
            Framing::Length | Framing::Short | Framing::Long | Framing::Close | Framing::Nothing => {}
        }
        Ok(true)
    }

    fn head(&self, length: usize) -> Vec<u8> {
        if let Some(head) = &self.head {
            return unescaped(head);
        }
        let media = if self.media.is_empty() { String::new() } else { format!("content-type: {}\r\n", self.media) };
        let end = match self.body {
            Framing::Gzip => "content-encoding: gzip\r\ntransfer-encoding: chunked\r\n".to_owned(),
            Framing::Chunked | Framing::Extended | Framing::Bytewise | Framing::Whole => {
                "transfer-encoding: chunked\r\n".to_owned()
            }
            Framing::Length => format!("content-length: {length}\r\n"),
            Framing::Short => format!("content-length: {}\r\n", length - 60),
            Framing::Long => format!("content-length: {}\r\n", length + 60),
            Framing::Close => "connection: close\r\n".to_owned(),
            Framing::Nothing => String::new(),
        };
        format!("HTTP/1.1 {}\r\n{media}{}{end}\r\n", self.status, dated(&self.headers)).into_bytes()
    }

    fn piece(&self, bytes: &[u8], socket: &mut TcpStream) -> std::io::Result<()> {
        match self.body {
            Framing::Chunked | Framing::Whole => socket.write_all(&chunk(bytes)),
            Framing::Extended => {
                socket.write_all(format!("{:X};name=\"va;lue\";x=1\r\n", bytes.len()).as_bytes())?;
                socket.write_all(&[bytes, b"\r\n"].concat())
            }
            Framing::Bytewise => bytes.iter().try_for_each(|byte| socket.write_all(&chunk(&[*byte]))),
            Framing::Gzip => {
                let size = bytes.len() as u16;
                let mut block = vec![0];
                block.extend(size.to_le_bytes());
                block.extend((!size).to_le_bytes());
                block.extend(bytes);
                socket.write_all(&chunk(&block))
            }
            Framing::Length | Framing::Short | Framing::Long | Framing::Close | Framing::Nothing => {
                socket.write_all(bytes)
            }
        }
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Headers with `$date+60` as the time of day of HTTP.
fn dated(headers: &str) -> String {
    let Some((before, after)) = headers.split_once("$date+") else { return headers.to_owned() };
    let digits = after.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(after.len());
    let at = jiff::Timestamp::now() + Duration::from_secs(after[..digits].parse().unwrap());
    format!("{before}{}{}", at.strftime("%a, %d %b %Y %H:%M:%S GMT"), dated(&after[digits..]))
}

/// The head and body of the next request; what was read behind it stays in `read`.
fn next_request(socket: &mut TcpStream, read: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let mut buffer = vec![0; 65_536];
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
                .unwrap_or(0);
            if read.len() >= end + 4 + length {
                let body = read[end + 4..end + 4 + length].to_vec();
                read.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        let count = socket.read(&mut buffer).ok().filter(|&count| count > 0)?;
        read.extend_from_slice(&buffer[..count]);
    }
}
