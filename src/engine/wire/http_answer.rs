//! One request from its connection to the end of its answer, in the task that waits for it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::task::coop;
use tokio::time::{Sleep, sleep};

use super::http::{Outgoing, RequestHead};
use super::pool::{Pool, PooledConnection};
use super::reply::{Afterwards, IncomingResponse, Origin, ResponseOutcome};
use super::socket::ReadDelays;
use crate::clock::RunClock;
use crate::engine::answer::{
    Answer, AnswerEnd, AnswerEvent, AnswerEvents, Cause, DiagnosedFailure, PreparedRequest,
};
use crate::engine::stream::reader::ArrivalStamp;
use crate::record::{Failure, FailureKind, FinishReason};

/// Steps per poll; a read that filled the buffer ends the poll. Otherwise a server that never pauses would
/// keep the thread from everything else, limits and the end of the run included.
const STEPS_A_POLL: u32 = 16;

/// Longest wait for the end of the body after `[DONE]`: servers send both at once, and an error may stand between.
const LINGER: Duration = Duration::from_millis(100);

/// One request under way: the [`Answer`] of this engine.
pub struct HttpAnswer {
    pool: Arc<Pool>,
    head: Arc<RequestHead>,
    delays: Arc<ReadDelays>,
    clock: RunClock,
    state: State,
    spare: Option<Spare>,
    /// Events not returned yet.
    events: AnswerEvents,
    /// The cause of the failure that ended it.
    pub(crate) cause: Cause,
}

type Opening = Pin<Box<dyn Future<Output = Result<Box<PooledConnection>, DiagnosedFailure>> + Send>>;

enum State {
    Unsent(PreparedRequest),
    Opening(Opening, PreparedRequest, Try),
    Exchanging(Box<HttpExchange>),
    Over,
}

/// A request that went over an idle connection, for another try if that was being closed: only as long as it
/// may be, for the bodies of many requests take much memory.
struct Spare {
    request: PreparedRequest,
    /// Time within which a close may have met the request.
    race: Duration,
    /// Its end, from when the request was sent.
    over: Option<Pin<Box<Sleep>>>,
}

impl Spare {
    fn is_needed(&mut self, cx: &mut Context<'_>, exchange: &HttpExchange) -> bool {
        if exchange.reply.has_begun() {
            return false;
        }
        let begun = !matches!(exchange.request, Request::Outgoing(_));
        let race = self.race;
        !begun || self.over.get_or_insert_with(|| Box::pin(sleep(race))).as_mut().poll(cx).is_pending()
    }
}

/// Which try of a request a connection is opened for.
#[derive(Clone, Copy)]
enum Try {
    First,
    /// An idle connection was closed as the request was sent.
    Second,
}

impl HttpAnswer {
    /// A request that is sent at the first [`Answer::next`]; the time that its bytes lay in the kernel is
    /// added to `delays`.
    pub(crate) fn new(
        pool: Arc<Pool>,
        head: Arc<RequestHead>,
        request: PreparedRequest,
        clock: RunClock,
        delays: Arc<ReadDelays>,
    ) -> Self {
        let state = State::Unsent(request);
        let events = AnswerEvents::new();
        Self { pool, head, delays, clock, state, spare: None, events, cause: Cause::Unknown }
    }

    /// Moves on until there is an event, but not for ever: after some steps, or when the task has used its
    /// share of tokio's budget, other tasks get their turn.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<AnswerEvent> {
        let budget = ready!(coop::poll_proceed(cx));
        for _ in 0..STEPS_A_POLL {
            if let Some(event) = self.events.pop_front() {
                budget.made_progress();
                return Poll::Ready(event);
            }
            ready!(self.poll_step(cx));
        }
        budget.made_progress();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Exchanging(exchange) => {
                let polled = exchange.poll(cx, self.clock, &self.delays, &mut self.events);
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
                let words = "more of an answer was asked for after its end".to_owned();
                let failure = self.head.secrets.failure(FailureKind::Internal, words);
                self.events
                    .push_back(AnswerEvent::Ended(Box::new(AnswerEnd::failed(self.clock.now(), failure))));
            }
        }
        Poll::Ready(())
    }

    fn begin(&mut self) {
        let State::Unsent(request) = std::mem::replace(&mut self.state, State::Over) else { return };
        if let Some(connection) = self.pool.take() {
            let origin = Origin::Idle(connection.opening);
            self.spare = origin.race().map(|race| Spare { request: request.clone(), race, over: None });
            self.start_exchange(connection, origin, request);
        } else {
            if self.pool.misses_a_lost_one() {
                self.events.push_back(AnswerEvent::Reconnects);
            }
            self.open(request, Try::First);
        }
    }

    fn open(&mut self, request: PreparedRequest, try_: Try) {
        let pool = Arc::clone(&self.pool);
        self.state = State::Opening(Box::pin(async move { pool.open().await }), request, try_);
    }

    fn opened(&mut self, opened: Result<Box<PooledConnection>, DiagnosedFailure>) {
        let State::Opening(_, request, try_) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        match opened {
            Ok(connection) => {
                if let Try::Second = try_ {
                    self.events.extend([AnswerEvent::Reconnects, AnswerEvent::Resent]);
                }
                self.start_exchange(connection, Origin::Opened, request);
            }
            Err(DiagnosedFailure { failure: Failure { reason, message }, cause }) => {
                self.cause = cause;
                let message = match try_ {
                    Try::First => message,
                    Try::Second => {
                        format!("the server closed the connection before it answered; then {message}")
                    }
                };
                let end = AnswerEnd::failed(self.clock.now(), self.head.secrets.failure(reason, message));
                self.events.push_back(AnswerEvent::Ended(Box::new(end)));
            }
        }
    }

    fn start_exchange(
        &mut self,
        mut connection: Box<PooledConnection>,
        origin: Origin,
        request: PreparedRequest,
    ) {
        connection.socket.stamped().begin(self.clock);
        let reply = IncomingResponse::new(Arc::clone(&self.head), origin, &request);
        let request = Request::Outgoing(Box::new(Outgoing::new(&self.head, request)));
        let exchange = HttpExchange { connection, request, turn_over: false, reply, linger: None };
        self.state = State::Exchanging(Box::new(exchange));
    }

    fn end(&mut self, outcome: ResponseOutcome) {
        let ResponseOutcome { end, cause, afterwards } = outcome;
        if let (Afterwards::AnotherTry, Some(Spare { request, .. })) = (&afterwards, self.spare.take()) {
            return self.open(request, Try::Second);
        }
        self.cause = cause;
        if end.result.is_ok() && matches!(afterwards, Afterwards::Nothing) {
            self.pool.lost_one();
        }
        self.events.push_back(AnswerEvent::Ended(Box::new(end)));
        let State::Exchanging(exchange) = std::mem::replace(&mut self.state, State::Over) else { return };
        let tail = match afterwards {
            Afterwards::Nothing | Afterwards::AnotherTry => return,
            Afterwards::Request => None,
            Afterwards::RequestAfter(tail) => Some(tail),
        };
        let HttpExchange { mut connection, request, .. } = *exchange;
        // A connection to which only a part of the request was written cannot take another.
        if matches!(request, Request::Sent) {
            connection.tail = tail;
            self.pool.give_back(connection);
        }
    }
}

impl Answer for HttpAnswer {
    async fn next(&mut self) -> AnswerEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn next_known(&mut self) -> Option<AnswerEvent> {
        self.events.pop_front()
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        match &self.state {
            State::Exchanging(exchange) => exchange.reply.finish_reason(),
            State::Unsent(_) | State::Opening(..) | State::Over => None,
        }
    }
}

/// A request with its connection, and what has come of it.
struct HttpExchange {
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

impl HttpExchange {
    /// Writes what can be written, else reads once; new events go to `events`.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        clock: RunClock,
        delays: &ReadDelays,
        events: &mut AnswerEvents,
    ) -> Poll<Option<ResponseOutcome>> {
        if self.poll_write(cx, events).is_ready() {
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
                    reply.take(read.bytes, arrival, events)
                }
                Err(error) => reply.fail(&error, ArrivalStamp { at: clock.now(), ..arrival }, events),
            }
        });
        if outcome.is_pending() && self.reply.is_complete() {
            ready!(self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER))).as_mut().poll(cx));
            let arrival = self.connection.socket.stamped().arrival();
            return Poll::Ready(self.reply.complete(ArrivalStamp { at: clock.now(), ..arrival }, events));
        }
        match (outcome, &self.request) {
            // Nothing more will come.
            (Poll::Pending, Request::Unwritten(error)) => {
                let arrival = self.connection.socket.stamped().arrival();
                let now = ArrivalStamp { at: clock.now(), ..arrival };
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
                if let Some(at) = self.connection.socket.stamped().sent {
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
