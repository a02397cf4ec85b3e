//! One request from its connection to the end of its response, in the task that waits for it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::{Sleep, sleep};

use super::connection::PooledConnection;
use super::http::{Outgoing, RequestHead};
use super::incoming::{Afterwards, IncomingResponse, ResponseOutcome};
use super::pool::Pool;
use super::receiver::{ArrivalStamp, BodyEnd, ExchangeEnd, Origin, Receiver};
use super::socket::ReadDelays;
use crate::clock::{RunClock, Timestamp};
use crate::engine::answer::{Cause, DiagnosedFailure, PreparedRequest};
use crate::record::{Failure, FailureKind, LostConnection};

/// Steps per poll; a read that filled the buffer ends the poll. Otherwise a server that never pauses would
/// keep the thread from everything else, limits and the end of the run included.
const STEPS_A_POLL: u32 = 16;

/// Longest wait for the end of the body after `[DONE]`. Servers send both at once, and an error may stand between.
const LINGER: Duration = Duration::from_millis(100);

/// One request under way, and who takes what comes of it.
pub(crate) struct Exchange<R> {
    pool: Arc<Pool>,
    head: Arc<RequestHead>,
    delays: Arc<ReadDelays>,
    clock: RunClock,
    state: State,
    spare: Option<Spare>,
    pub(crate) receiver: R,
}

type Opening = Pin<Box<dyn Future<Output = Result<Box<PooledConnection>, DiagnosedFailure>> + Send>>;

enum State {
    Unsent(PreparedRequest),
    Opening(Opening, PreparedRequest, Try),
    Sending(Box<OpenExchange>),
    Over,
}

/// A request that went over an idle connection, kept for another try. It is sent again if the connection was being
/// closed, and kept only as long as it may be: the bodies of many requests take much memory.
struct Spare {
    request: PreparedRequest,
    /// Time within which a close may have met the request.
    race: Duration,
    /// Its end, from when the request was sent.
    over: Option<Pin<Box<Sleep>>>,
}

impl Spare {
    fn is_needed(&mut self, cx: &mut Context<'_>, exchange: &OpenExchange) -> bool {
        if exchange.reply.has_begun() {
            return false;
        }
        let begun = !matches!(exchange.request, Request::Outgoing(_));
        let race = self.race;
        !begun || self.over.get_or_insert_with(|| Box::pin(sleep(race))).as_mut().poll(cx).is_pending()
    }
}

/// The try of a request for which a connection is opened.
#[derive(Clone, Copy)]
enum Try {
    First,
    /// An idle connection was closed as the request was sent.
    Second,
}

impl<R: Receiver> Exchange<R> {
    /// Makes a request that is sent at the first poll. The time that its bytes lay in the kernel is added to `delays`.
    pub(super) fn new(
        (pool, head): (Arc<Pool>, Arc<RequestHead>),
        request: PreparedRequest,
        receiver: R,
        clock: RunClock,
        delays: Arc<ReadDelays>,
    ) -> Self {
        Self { pool, head, delays, clock, state: State::Unsent(request), spare: None, receiver }
    }

    /// Moves on until there is something to `take` from the receiver, but not for ever. After some steps, or when the
    /// task has used its share of tokio's budget, other tasks get their turn.
    pub(crate) fn poll_until<T>(&mut self, cx: &mut Context<'_>, mut take: impl FnMut(&mut R) -> Option<T>) -> Poll<T> {
        let budget = ready!(coop::poll_proceed(cx));
        for _ in 0..STEPS_A_POLL {
            if let Some(taken) = take(&mut self.receiver) {
                budget.made_progress();
                return Poll::Ready(taken);
            }
            ready!(self.poll_step(cx));
        }
        budget.made_progress();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Sending(exchange) => {
                let polled = exchange.poll(cx, self.clock, &self.delays, &mut self.receiver);
                if let Poll::Ready(Some(outcome)) = polled {
                    self.end(outcome);
                    return Poll::Ready(());
                }
                if self.spare.as_mut().is_some_and(|spare| !spare.is_needed(cx, exchange)) {
                    self.spare = None;
                }
                return polled.map(|_| ());
            }
            State::Unsent(_) => self.begin(),
            State::Opening(opening, ..) => {
                let opened = ready!(opening.as_mut().poll(cx));
                self.opened(opened);
            }
            State::Over => {
                // A fault of this program: without an event its caller would wait for ever.
                let message = "more of an answer was asked for after its end".to_owned();
                let failure = Failure { reason: FailureKind::Internal, message };
                self.fail(self.clock.now(), failure, Cause::Unknown);
            }
        }
        Poll::Ready(())
    }

    fn fail(&mut self, at: Timestamp, failure: Failure, cause: Cause) {
        self.receiver.failed(at, DiagnosedFailure { failure, cause });
    }

    fn begin(&mut self) {
        let State::Unsent(request) = std::mem::replace(&mut self.state, State::Over) else { return };
        if let Some(connection) = self.pool.take() {
            let origin = Origin::Idle(connection.opening);
            self.spare = origin.race().map(|race| Spare { request: request.clone(), race, over: None });
            self.start_exchange(connection, origin, request);
        } else {
            if self.pool.misses_a_lost_one() {
                self.receiver.lost_connection(LostConnection::Idle);
            }
            self.open(request, Try::First);
        }
    }

    fn open(&mut self, request: PreparedRequest, try_: Try) {
        let (pool, peer) = (Arc::clone(&self.pool), self.pool.next_peer());
        self.state = State::Opening(Box::pin(async move { pool.open(peer).await }), request, try_);
    }

    fn opened(&mut self, opened: Result<Box<PooledConnection>, DiagnosedFailure>) {
        let State::Opening(_, request, try_) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        match opened {
            Ok(connection) => {
                if let Try::Second = try_ {
                    self.receiver.lost_connection(LostConnection::AsSent);
                }
                self.start_exchange(connection, Origin::Opened, request);
            }
            Err(DiagnosedFailure { failure: Failure { reason, message }, cause }) => {
                let message = match try_ {
                    Try::First => message,
                    Try::Second => {
                        format!("the server closed the connection before it answered; then {message}")
                    }
                };
                self.fail(self.clock.now(), Failure { reason, message }, cause);
            }
        }
    }

    fn start_exchange(&mut self, mut connection: Box<PooledConnection>, origin: Origin, request: PreparedRequest) {
        connection.socket.stamped().begin(self.clock);
        connection.peer.place.into_iter().for_each(|place| self.receiver.connected(place));
        let reply = IncomingResponse::new(origin);
        let request = Request::Outgoing(Box::new(Outgoing::new(&self.head, request)));
        let exchange = OpenExchange { connection, request, turn_over: false, reply, linger: None };
        self.state = State::Sending(Box::new(exchange));
    }

    fn end(&mut self, outcome: ResponseOutcome) {
        let ResponseOutcome { received, afterwards, lost } = outcome;
        if let (Afterwards::AnotherTry, Some(Spare { request, .. })) = (&afterwards, self.spare.take()) {
            return self.open(request, Try::Second);
        }
        if received == ExchangeEnd::Whole && matches!(afterwards, Afterwards::Nothing) {
            self.pool.lost_one();
        }
        if let Some((at, failure)) = lost {
            self.fail(at, failure, Cause::Unknown);
        }
        let State::Sending(exchange) = std::mem::replace(&mut self.state, State::Over) else { return };
        let tail = match afterwards {
            Afterwards::Nothing | Afterwards::AnotherTry => return,
            Afterwards::Request => None,
            Afterwards::RequestAfter(tail) => Some(tail),
        };
        let OpenExchange { mut connection, request, .. } = *exchange;
        // A connection to which only a part of the request was written cannot take another.
        if matches!(request, Request::Sent) {
            connection.tail = tail;
            self.pool.give_back(connection);
        }
    }
}

/// A request with its connection, and what has come of it.
struct OpenExchange {
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
    /// Writes what can be written, else reads once; what comes goes to `receiver`.
    fn poll(
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
            let stamped = socket.stamped();
            let arrival = stamped.arrival();
            if let Some(delay) = stamped.read_delay.take() {
                delays.add(delay);
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
    fn poll_write(&mut self, cx: &mut Context<'_>, receiver: &mut impl Receiver) -> Poll<()> {
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
