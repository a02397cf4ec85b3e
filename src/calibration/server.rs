//! The known server: one thread, non-blocking sockets, and a note of every write of a paced token.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use super::conversation::Conversation;
use crate::clock::{RunClock, Timestamp};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// Longest sleep while tokens are due, after which sockets are looked at again.
const NAP: Duration = Duration::from_millis(1);

/// When the writes of each paced answer's tokens began, by the place of its request in the schedule.
pub(super) type Writes = HashMap<u64, Vec<Timestamp>>;

/// The server; it ends when dropped.
#[derive(Debug)]
pub(super) struct KnownServer {
    address: SocketAddr,
    stop: Waker,
    thread: Option<JoinHandle<io::Result<Writes>>>,
}

impl KnownServer {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start(clock: RunClock) -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let stop = Waker::new(poll.registry(), STOP)?;
        let hall =
            Hall { poll, listener, clock, guests: Vec::new(), due: BinaryHeap::new(), writes: Writes::new() };
        let thread = std::thread::Builder::new().name("known server".to_owned());
        let thread = Some(thread.spawn(move || hall.serve())?);
        Ok(Self { address, stop, thread })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and tells what it wrote.
    pub(super) fn finish(mut self) -> io::Result<Writes> {
        self.stop.wake()?;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(writes)) => writes,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Writes::new()),
        }
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        // A thread that cannot be woken ends with the process.
        let _ = self.stop.wake();
    }
}

/// All that the server's thread has.
struct Hall {
    poll: Poll,
    listener: TcpListener,
    clock: RunClock,
    /// Connections by their token; those that are over leave a gap.
    guests: Vec<Option<Conversation>>,
    /// Who has to speak next, and when.
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
                    self.guests.push(Some(Conversation::new(socket)));
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

    /// A connection is over. What it was told counts, also where the client did not wait for the rest.
    fn part(&mut self, guest: usize) {
        let stream = self.guests[guest].take().and_then(|conversation| conversation.stream);
        self.writes.extend(stream.map(|stream| (stream.index, stream.writes)));
    }

    fn close(mut self) -> Writes {
        (0..self.guests.len()).for_each(|guest| self.part(guest));
        self.writes
    }

    /// Lets everyone speak whose moment has come.
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
