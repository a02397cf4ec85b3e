//! A client that only reads: what no load generator can be cheaper than, nor sooner.

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

/// What ends every streamed answer.
const LAST_CHUNK: [u8; 5] = *b"0\r\n\r\n";

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) requests: usize,
    /// Tokens of each answer.
    pub(crate) tokens: u32,
    /// Most requests in flight.
    pub(crate) at_once: usize,
    /// Time from one request to the next.
    pub(crate) gap: Duration,
}

/// Flies `load` on one thread that waits for all sockets at once, and hands every read to `read` with the number of
/// its request.
pub(crate) fn fly(address: SocketAddr, load: Load, mut read: impl FnMut(usize, &[u8])) {
    let mut client = Client {
        address,
        tokens: load.tokens,
        poll: Poll::new().unwrap(),
        flying: HashMap::new(),
        idle: Vec::new(),
        opened: 0,
    };
    let mut events = Events::with_capacity(1_024);
    let mut buffer = vec![0; 64 * 1_024];
    let (begin, mut sent, mut ended) = (Instant::now(), 0, 0);
    while ended < load.requests {
        let mut wait = None;
        while sent < load.requests && client.flying.len() < load.at_once {
            let ahead = (load.gap * sent as u32).saturating_sub(begin.elapsed());
            if !ahead.is_zero() {
                wait = Some(ahead);
                break;
            }
            client.send(sent);
            sent += 1;
        }
        match client.poll.poll(&mut events, wait) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result.unwrap(),
        }
        for event in &events {
            ended += client.receive(event.token(), &mut buffer, &mut read);
        }
    }
}

struct Client {
    address: SocketAddr,
    tokens: u32,
    poll: Poll,
    flying: HashMap<Token, Flight>,
    idle: Vec<(Token, TcpStream)>,
    opened: usize,
}

struct Flight {
    request: usize,
    socket: TcpStream,
    tail: [u8; LAST_CHUNK.len()],
}

impl Client {
    fn send(&mut self, request: usize) {
        let (token, mut socket) = self.idle.pop().unwrap_or_else(|| self.open());
        let body = format!(
            r#"{{"messages":[],"max_tokens":{},"stream":true,"stream_options":{{"include_usage":true}}}}"#,
            self.tokens
        );
        let request_text = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\nx-request-id: {request:x}\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request_text.as_bytes()).unwrap();
        self.flying.insert(token, Flight { request, socket, tail: [0; LAST_CHUNK.len()] });
    }

    fn open(&mut self) -> (Token, TcpStream) {
        let connected = std::net::TcpStream::connect(self.address).unwrap();
        connected.set_nonblocking(true).unwrap();
        connected.set_nodelay(true).unwrap();
        let mut socket = TcpStream::from_std(connected);
        self.opened += 1;
        let token = Token(self.opened);
        self.poll.registry().register(&mut socket, token, Interest::READABLE).unwrap();
        (token, socket)
    }

    /// Reads all that there is; how many answers ended with it.
    fn receive(&mut self, token: Token, buffer: &mut [u8], read: &mut impl FnMut(usize, &[u8])) -> usize {
        let Some(flight) = self.flying.get_mut(&token) else { return 0 };
        loop {
            let bytes = match flight.socket.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return 0,
                result => &buffer[..result.unwrap()],
            };
            assert!(!bytes.is_empty(), "the server closed a connection in the middle of an answer");
            read(flight.request, bytes);
            let kept = LAST_CHUNK.len().saturating_sub(bytes.len());
            flight.tail.copy_within(LAST_CHUNK.len() - kept.., 0);
            let new = &bytes[bytes.len() - (LAST_CHUNK.len() - kept)..];
            flight.tail[kept..].copy_from_slice(new);
            if flight.tail == LAST_CHUNK {
                if let Some(Flight { socket, .. }) = self.flying.remove(&token) {
                    self.idle.push((token, socket));
                }
                return 1;
            }
            // A read that left room has taken all there was: the next bytes bring an event of their own.
            if bytes.len() < 64 * 1_024 {
                return 0;
            }
        }
    }
}
