//! The reference server: one thread, non-blocking sockets, and a record of every write of a paced token.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use super::conversation::ServerConnection;
use crate::clock::{RunClock, Timestamp};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// Longest sleep while tokens are due, after which sockets are checked again.
const NAP: Duration = Duration::from_millis(1);

/// When the writes of each paced answer's tokens began, by the index of its request.
pub(super) type Writes = HashMap<u64, Vec<Timestamp>>;

/// The server; dropping it ends it.
#[derive(Debug)]
pub(super) struct ReferenceServer {
    address: SocketAddr,
    stop: Waker,
    thread: Option<JoinHandle<io::Result<Writes>>>,
}

impl ReferenceServer {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start(clock: RunClock) -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let stop = Waker::new(poll.registry(), STOP)?;
        let hall =
            Hall { poll, listener, clock, guests: Vec::new(), due: BinaryHeap::new(), writes: Writes::new() };
        let thread = std::thread::Builder::new().name("reference server".to_owned());
        let thread = Some(thread.spawn(move || hall.serve())?);
        Ok(Self { address, stop, thread })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
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
struct Hall {
    poll: Poll,
    listener: TcpListener,
    clock: RunClock,
    /// Connections by their token; closed ones leave a gap.
    guests: Vec<Option<ServerConnection>>,
    /// Which connection writes next, and when.
    due: BinaryHeap<Reverse<(Timestamp, usize)>>,
    writes: Writes,
}

impl Hall {
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
                    STOP => return Ok(self.close()),
                    LISTENER => self.welcome()?,
                    Token(guest) => self.attend(guest),
                }
            }
            self.speak();
        }
    }

    fn welcome(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((mut socket, _)) => {
                    let token = Token(self.guests.len());
                    socket.set_nodelay(true)?;
                    self.poll.registry().register(
                        &mut socket,
                        token,
                        Interest::READABLE | Interest::WRITABLE,
                    )?;
                    self.guests.push(Some(ServerConnection::new(socket)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn attend(&mut self, guest: usize) {
        let Some(conversation) = self.guests.get_mut(guest).and_then(Option::as_mut) else { return };
        let waits = conversation.stream.is_some();
        if conversation.attend(self.clock).is_err() {
            self.part(guest);
        } else if let Some(stream) = conversation.stream.as_ref().filter(|_| !waits) {
            self.due.push(Reverse((stream.due, guest)));
        }
    }

    /// A connection is over. Its writes count even where the client did not wait for the rest.
    fn part(&mut self, guest: usize) {
        let stream = self.guests[guest].take().and_then(|conversation| conversation.stream);
        self.writes.extend(stream.map(|stream| (stream.index, stream.writes)));
    }

    fn close(mut self) -> Writes {
        (0..self.guests.len()).for_each(|guest| self.part(guest));
        self.writes
    }

    /// Writes every token that is due.
    fn speak(&mut self) {
        while let Some(&Reverse((due, guest))) = self.due.peek()
            && due <= self.clock.now()
        {
            self.due.pop();
            let Some(conversation) = self.guests[guest].as_mut() else { continue };
            match conversation.speak(self.clock) {
                Err(_) => self.part(guest),
                Ok(Some(ended)) => _ = self.writes.insert(ended.index, ended.writes),
                Ok(None) => {
                    self.due.extend(conversation.stream.as_ref().map(|stream| Reverse((stream.due, guest))));
                }
            }
        }
    }
}
