//! The reference server: one thread, non-blocking sockets, and a record of every write of a paced token.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use super::connection::ReferenceConnection;
use crate::clock::{Pacing, RunClock, Timestamp, start_thread};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// Longest sleep while tokens are due, after which sockets are checked again.
const NAP: Duration = Duration::from_millis(1);

/// Moments when the writes of each paced answer's tokens began. The key is the index of its request.
type Writes = HashMap<u64, Vec<Timestamp>>;

/// The server; dropping it ends it.
pub(super) struct ReferenceServer {
    pub(super) address: SocketAddr,
    stop: Waker,
    thread: Option<JoinHandle<io::Result<Writes>>>,
}

impl ReferenceServer {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start(clock: RunClock, pacing: Pacing) -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let stop = Waker::new(poll.registry(), STOP)?;
        let hall = ServerState {
            poll,
            listener,
            clock,
            connections: Vec::new(),
            due: BinaryHeap::new(),
            writes: Writes::new(),
        };
        let thread = start_thread("reference server", move || {
            let _raised = pacing.raise();
            hall.serve()
        });
        let thread = Some(thread?);
        Ok(Self { address, stop, thread })
    }

    /// Stops it and returns its writes.
    pub(super) fn finish(mut self) -> io::Result<Writes> {
        self.stop.wake()?;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(writes)) => writes,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Writes::new()),
        }
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        // A thread that cannot be woken ends with the process.
        let _ = self.stop.wake();
    }
}

/// The state of the server's thread.
struct ServerState {
    poll: Poll,
    listener: TcpListener,
    clock: RunClock,
    /// Connections by their token; closed ones leave a gap.
    connections: Vec<Option<ReferenceConnection>>,
    /// Times of the next writes, each with its connection.
    due: BinaryHeap<Reverse<(Timestamp, usize)>>,
    writes: Writes,
}

impl ServerState {
    fn serve(mut self) -> io::Result<Writes> {
        let mut events = Events::with_capacity(256);
        loop {
            let wait = self.due.peek().map(|Reverse((due, _))| {
                std::thread::sleep(self.clock.until(*due).min(NAP));
                Duration::ZERO
            });
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                match event.token() {
                    STOP => return Ok(self.finish()),
                    LISTENER => self.accept()?,
                    Token(token) => self.serve_connection(token),
                }
            }
            self.write_due();
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((mut socket, _)) => {
                    let token = Token(self.connections.len());
                    socket.set_nodelay(true)?;
                    self.poll.registry().register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
                    self.connections.push(Some(ReferenceConnection::new(socket)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn serve_connection(&mut self, token: usize) {
        let Some(connection) = self.connections.get_mut(token).and_then(Option::as_mut) else { return };
        let waits = connection.stream.is_some();
        if connection.poll(self.clock).is_err() {
            self.close(token);
        } else if let Some(stream) = connection.stream.as_ref().filter(|_| !waits) {
            self.due.push(Reverse((stream.due, token)));
        }
    }

    /// A connection is over. Its writes count even where the client did not wait for the rest.
    fn close(&mut self, token: usize) {
        let stream = self.connections[token].take().and_then(|connection| connection.stream);
        self.writes.extend(stream.map(|stream| (stream.index, stream.writes)));
    }

    fn finish(mut self) -> Writes {
        (0..self.connections.len()).for_each(|token| self.close(token));
        self.writes
    }

    /// Writes every token that is due.
    fn write_due(&mut self) {
        while let Some(&Reverse((due, token))) = self.due.peek()
            && due <= self.clock.now()
        {
            self.due.pop();
            let Some(connection) = self.connections[token].as_mut() else { continue };
            match connection.write_due(self.clock) {
                Err(_) => self.close(token),
                Ok(Some(ended)) => _ = self.writes.insert(ended.index, ended.writes),
                Ok(None) => {
                    self.due.extend(connection.stream.as_ref().map(|stream| Reverse((stream.due, token))));
                }
            }
        }
    }
}
