//! One request over a connection of HTTP/1.1 that is its own.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Sleep, sleep};

use super::connection::PooledConnection;
use super::http::{Outgoing, RequestHead};
use super::incoming::{Afterwards, IncomingResponse, LINGER, ResponseOutcome};
use super::receiver::{ArrivalStamp, BodyEnd, Origin, Receiver};
use super::socket::{Peer, ReadDelays, ReaderRest, Socket};
use super::spare::RequestProgress;
use crate::clock::RunClock;
use crate::engine::answer::PreparedRequest;

/// A request with its connection, and what has come of it.
pub(super) struct OpenExchange {
    connection: Box<PooledConnection>,
    request: Request,
    /// The last read filled the buffer: there is more, but other tasks come first.
    turn_over: bool,
    reply: IncomingResponse,
    /// Begins when the whole answer has come and its body goes on.
    linger: Option<Pin<Box<Sleep>>>,
}

/// How much of the request is written.
enum Request {
    Outgoing(Box<Outgoing>),
    Sent,
    /// The connection takes no more of it. What the server sent may still be read.
    Unwritten(io::Error),
}

impl OpenExchange {
    /// Begins a request, of which nothing is written yet, on a connection.
    pub(super) fn start(
        mut connection: Box<PooledConnection>,
        head: &RequestHead,
        request: PreparedRequest,
        origin: Origin,
        clock: RunClock,
    ) -> Self {
        connection.socket.stamped().begin(clock);
        let request = Request::Outgoing(Box::new(Outgoing::new(head, request)));
        Self { connection, request, turn_over: false, reply: IncomingResponse::new(origin), linger: None }
    }

    /// The address that its connection goes to.
    pub(super) fn peer(&self) -> &Peer {
        &self.connection.peer.peer
    }

    /// The connection, where it can take another request.
    pub(super) fn over(self, afterwards: Afterwards) -> Option<Box<PooledConnection>> {
        let Self { mut connection, request, .. } = self;
        connection.tail = match afterwards {
            Afterwards::Nothing | Afterwards::AnotherTry | Afterwards::Unseen => return None,
            Afterwards::Request => None,
            Afterwards::RequestAfter(tail) => Some(tail),
        };
        // A connection to which only a part of the request was written cannot take another.
        matches!(request, Request::Sent).then_some(connection)
    }

    /// How far the request has come.
    pub(super) fn progress(&self) -> RequestProgress {
        match self.request {
            _ if self.reply.has_begun() => RequestProgress::Answered,
            Request::Outgoing(_) => RequestProgress::Unsent,
            Request::Sent | Request::Unwritten(_) => RequestProgress::Sent,
        }
    }

    /// Writes what can be written, else reads once; what comes goes to `receiver`.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        clock: RunClock,
        delays: &ReadDelays,
        receiver: &mut impl Receiver,
    ) -> Poll<Option<ResponseOutcome>> {
        if self.poll_write(cx, receiver).is_ready() {
            return Poll::Ready(None);
        }
        if std::mem::take(&mut self.turn_over) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Self { connection, turn_over, reply, .. } = self;
        let outcome = connection.socket.poll_read(cx, |socket, read| {
            let is_plain = matches!(socket, Socket::Plain(_));
            let stamped = socket.stamped();
            let arrival = stamped.arrival();
            if let Some(delay) = stamped.read_delay.take() {
                delays.add(delay);
                if is_plain {
                    ReaderRest::read();
                }
            }
            match read {
                Ok(read) => {
                    *turn_over = read.filled;
                    reply.take(read.bytes, arrival, receiver)
                }
                Err(error) => reply.fail(&error, ArrivalStamp { at: clock.now(), ..arrival }, receiver),
            }
        });
        if outcome.is_pending() && receiver.is_complete() {
            ready!(self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER))).as_mut().poll(cx));
            let arrival = self.connection.socket.stamped().arrival();
            let end = receiver.end(BodyEnd::Clean, ArrivalStamp { at: clock.now(), ..arrival });
            return Poll::Ready(self.reply.end(&[], end));
        }
        match (outcome, &self.request) {
            // Nothing more will come.
            (Poll::Pending, Request::Unwritten(error)) => {
                let arrival = self.connection.socket.stamped().arrival();
                let now = ArrivalStamp { at: clock.now(), ..arrival };
                Poll::Ready(self.reply.fail(error, now, receiver))
            }
            (outcome, _) => outcome,
        }
    }

    /// Ready once, when the whole request was written.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, receiver: &mut impl Receiver) -> Poll<()> {
        let Request::Outgoing(outgoing) = &mut self.request else { return Poll::Pending };
        match ready!(outgoing.poll_write(cx, &mut self.connection.socket)) {
            Ok(()) => {
                self.request = Request::Sent;
                if let Some(at) = self.connection.socket.stamped().sent {
                    self.reply.request_sent(at, receiver);
                }
                Poll::Ready(())
            }
            Err(error) => {
                self.request = Request::Unwritten(error);
                Poll::Pending
            }
        }
    }
}
