//! Listens, reads requests, and writes what goes out flat out.

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use skyline::clock::{RunClock, Timestamp};

use super::Watch;
use super::answer::{Answer, BLOCK, MODELS, NOT_FOUND, READY, STREAM_HEAD};
use super::pacing::{self, Paced};
use super::receive::Stamps;
use super::request::{Wanted, read};

const LISTENER: Token = Token(0);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4_096;

/// Starts a server on a free port of the loopback device. It stops with the process.
///
/// A token of a stream leaves `gap` after the one before it, in a write of its own, and no two streams are in step.
/// Without a gap tokens leave as fast as sockets take them, [`BLOCK`] in one write.
pub(crate) fn start(gap: Duration, clock: RunClock, watch: Arc<impl Watch>) -> SocketAddr {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    // The 128 that a listener has by itself are too few when hundreds connect at once: some would wait a second.
    rustix::net::listen(&listener, BACKLOG).unwrap();
    let address = listener.local_addr().unwrap();
    let poll = Poll::new().unwrap();
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE).unwrap();
    let stamps = watch.wants_arrivals().then(|| Stamps::ask_for(&listener));
    let paced = (!gap.is_zero()).then(|| {
        let (paced, coming) = mpsc::channel();
        let watch = Arc::clone(&watch);
        std::thread::spawn(move || pacing::write(&coming, gap, clock, &*watch));
        paced
    });
    let server = Server {
        poll,
        listener,
        stamps,
        connections: HashMap::new(),
        opened: 0,
        writing: VecDeque::new(),
        paced,
        clock,
        watch,
    };
    std::thread::spawn(move || server.serve());
    address
}

struct Server<W> {
    poll: Poll,
    listener: TcpListener,
    /// What comes with every read; none where it does not matter when requests arrive.
    stamps: Option<Stamps>,
    connections: HashMap<Token, Connection>,
    opened: usize,
    /// Connections whose sockets may take more of an answer that goes flat out.
    writing: VecDeque<Token>,
    /// Who writes the others.
    paced: Option<mpsc::Sender<Paced>>,
    clock: RunClock,
    watch: Arc<W>,
}

struct Connection {
    socket: Arc<TcpStream>,
    received: Vec<u8>,
    flat_out: Option<FlatOut>,
}

/// An answer that leaves as fast as its socket takes it.
struct FlatOut {
    answer: Answer,
    unsent: Vec<u8>,
    writes: Vec<Timestamp>,
}

/// Whether a connection is worth looking at again.
enum Socket {
    Open,
    Gone,
}

impl<W: Watch> Server<W> {
    fn serve(mut self) {
        let mut events = Events::with_capacity(1_024);
        loop {
            let wait = (!self.writing.is_empty()).then_some(Duration::ZERO);
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result.unwrap(),
            }
            for event in &events {
                if event.token() == LISTENER {
                    self.accept();
                    continue;
                }
                if event.is_readable()
                    && let Socket::Gone = self.read(event.token())
                {
                    self.connections.remove(&event.token());
                }
                if event.is_writable() {
                    self.writing.push_back(event.token());
                }
            }
            for _ in 0..self.writing.len() {
                let Some(token) = self.writing.pop_front() else { break };
                if let Socket::Gone = self.write(token) {
                    self.connections.remove(&token);
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((mut socket, _)) = self.listener.accept() {
            socket.set_nodelay(true).unwrap();
            self.opened += 1;
            let token = Token(self.opened);
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut socket, token, interest).unwrap();
            let connection = Connection { socket: Arc::new(socket), received: Vec::new(), flat_out: None };
            self.connections.insert(token, connection);
        }
    }

    fn read(&mut self, token: Token) -> Socket {
        let Some(connection) = self.connections.get_mut(&token) else { return Socket::Open };
        let mut buffer = [0; 16 * 1_024];
        let mut arrived = None;
        loop {
            let received = match &mut self.stamps {
                Some(stamps) => stamps.receive(&connection.socket, &mut buffer),
                None => (&*connection.socket).read(&mut buffer).map(|count| (count, None)),
            };
            match received {
                Ok((0, _)) => return Socket::Gone,
                Ok((count, stamp)) => {
                    connection.received.extend_from_slice(&buffer[..count]);
                    arrived = stamp;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Socket::Gone,
            }
        }
        while let Some((wanted, length)) = read(&connection.received) {
            connection.received.drain(..length);
            let (reply, order) = match wanted {
                Wanted::Models => (MODELS, None),
                Wanted::Health => (READY, None),
                Wanted::Unknown => (NOT_FOUND, None),
                Wanted::Answer(order) => (STREAM_HEAD, Some(order)),
            };
            // Nothing else is on its way to this client, so there is room for so little.
            if (&*connection.socket).write_all(reply).is_err() {
                return Socket::Gone;
            }
            let Some(order) = order else { continue };
            self.watch.asked(arrived);
            let answer = Answer::new(order);
            if let Some(paced) = &self.paced {
                paced.send(Paced::new(answer, Arc::clone(&connection.socket))).unwrap();
            } else {
                connection.flat_out = Some(FlatOut { answer, unsent: Vec::new(), writes: Vec::new() });
                self.writing.push_back(token);
            }
        }
        Socket::Open
    }

    /// Writes one block, and comes back for the next after the other connections have had theirs.
    fn write(&mut self, token: Token) -> Socket {
        let Some(connection) = self.connections.get_mut(&token) else { return Socket::Open };
        let Some(flat_out) = &mut connection.flat_out else { return Socket::Open };
        if flat_out.unsent.is_empty() {
            let now = self.clock.now();
            for _ in 0..BLOCK {
                if flat_out.answer.is_whole() {
                    break;
                }
                flat_out.answer.render(&mut flat_out.unsent);
                flat_out.writes.push(now);
            }
        }
        match (&*connection.socket).write(&flat_out.unsent) {
            Ok(count) => {
                flat_out.unsent.drain(..count);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Socket::Open,
            Err(_) => return Socket::Gone,
        }
        if flat_out.unsent.is_empty() && flat_out.answer.is_whole() {
            if let Some(FlatOut { answer, writes, .. }) = connection.flat_out.take() {
                self.watch.answered(answer.name(), writes);
            }
        } else {
            self.writing.push_back(token);
        }
        Socket::Open
    }
}
