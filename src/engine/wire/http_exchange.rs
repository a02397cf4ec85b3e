//! Carries one request and its response over one connection.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::http::{Outgoing, RequestHead};
use super::pooled_connection::PooledConnection;
use super::reply::{Origin, Outcome, Reply};
use super::socket::ReadDelays;
use crate::clock::RunClock;
use crate::engine::answer::{AnswerEvents, PreparedRequest};
use crate::engine::stream::reader::ArrivalStamp;
use crate::record::FinishReason;

/// A request with its connection, and what has come of it.
pub(super) struct HttpExchange {
    connection: Box<PooledConnection>,
    clock: RunClock,
    delays: Arc<ReadDelays>,
    request: Request,
    /// The last read filled the buffer: there is more, but other tasks come first.
    turn_over: bool,
    reply: Reply,
}

/// How much of the request is written.
enum Request {
    Outgoing(Box<Outgoing>),
    Sent,
    /// The connection takes no more of it. What the server sent may still be read.
    Unwritten(io::Error),
}

impl HttpExchange {
    /// A request that is written at the first poll.
    pub(super) fn new(
        mut connection: Box<PooledConnection>,
        origin: Origin,
        clock: RunClock,
        head: Arc<RequestHead>,
        request: PreparedRequest,
        delays: Arc<ReadDelays>,
    ) -> Self {
        connection.socket.stamped().begin(clock);
        let capture = request.capture;
        let request = Request::Outgoing(Box::new(Outgoing::new(&head, request)));
        let reply = Reply::new(head, origin, capture);
        Self { connection, clock, delays, request, turn_over: false, reply }
    }

    /// The connection, if the whole request was written to it.
    pub(super) fn into_connection(self) -> Option<Box<PooledConnection>> {
        matches!(self.request, Request::Sent).then_some(self.connection)
    }

    /// Why the model stopped, where all of the text has come.
    pub(super) fn finish_reason(&self) -> Option<FinishReason> {
        self.reply.finish_reason()
    }

    /// Writes what can be written, else reads once; new events go to `events`.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, events: &mut AnswerEvents) -> Poll<Option<Outcome>> {
        if self.poll_write(cx, events).is_ready() {
            return Poll::Ready(None);
        }
        if std::mem::take(&mut self.turn_over) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Self { connection, clock, delays, turn_over, reply, .. } = self;
        let outcome = connection.socket.poll_read(cx, |socket, read| {
            let stamped = socket.stamped();
            let arrival = stamped.arrival();
            if let Some(delay) = stamped.take_read_delay() {
                delays.add(delay);
            }
            match read {
                Ok(read) => {
                    *turn_over = read.filled;
                    reply.take(read.bytes, arrival, events)
                }
                Err(error) => reply.fail(&error, ArrivalStamp { at: clock.now(), ..arrival }, events),
            }
        });
        match (outcome, &self.request) {
            // Nothing more will come.
            (Poll::Pending, Request::Unwritten(error)) => {
                let arrival = self.connection.socket.stamped().arrival();
                let now = ArrivalStamp { at: self.clock.now(), ..arrival };
                Poll::Ready(self.reply.fail(error, now, events))
            }
            (outcome, _) => outcome,
        }
    }

    /// Ready once, when the whole request was written.
    fn poll_write(&mut self, cx: &mut Context<'_>, events: &mut AnswerEvents) -> Poll<()> {
        let Request::Outgoing(outgoing) = &mut self.request else { return Poll::Pending };
        match ready!(outgoing.poll_write(cx, &mut self.connection.socket)) {
            Ok(()) => {
                self.request = Request::Sent;
                if let Some(at) = self.connection.socket.stamped().sent() {
                    self.reply.request_sent(at, events);
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
