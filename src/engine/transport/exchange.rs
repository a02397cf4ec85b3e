//! One request from its connection to the end of its response, in the task that waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::task::noop_waker_ref;
use tokio::task::coop;

use super::connection::Carrier;
use super::http::RequestHead;
use super::http2::OpenStream;
use super::incoming::{Afterwards, ResponseOutcome};
use super::own_exchange::OpenExchange;
use super::pool::Pool;
use super::receiver::{ExchangeEnd, Origin, Receiver};
use super::socket::{Peer, ReadDelays};
use super::spare::{RequestProgress, Spare, Try};
use crate::clock::{RunClock, Timestamp};
use crate::engine::answer::{Cause, DiagnosedFailure, PreparedRequest};
use crate::record::{Failure, FailureKind, LostConnection};

/// Steps per poll; a read that filled the buffer ends the poll. Otherwise a server that never pauses would
/// keep the thread from everything else, limits and the end of the run included.
const STEPS_A_POLL: u32 = 16;

/// Largest body that the thread which sends copies itself, bytes. A larger one would delay the next request.
const MOST_NOW: usize = 64 << 10;

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

type Opening = Pin<Box<dyn Future<Output = Result<Carrier, DiagnosedFailure>> + Send>>;

enum State {
    Unsent(PreparedRequest),
    Opening(Opening, PreparedRequest, Try),
    Sending(Box<OpenExchange>),
    Streaming(Box<OpenStream>),
    Over,
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

    /// Writes the request to an idle connection now, on whatever thread. What the socket does not take, or all of it
    /// where no connection is idle, is left to the first poll. Returns whether all of it is written.
    pub(crate) fn send_now(&mut self) -> bool {
        let is_small = matches!(&self.state, State::Unsent(request) if request.body.len() <= MOST_NOW);
        if !is_small || !self.pool.has_plain_connections() {
            return false;
        }
        self.begin();
        let State::Sending(exchange) = &mut self.state else { return false };
        exchange.poll_write(&mut Context::from_waker(noop_waker_ref()), &mut self.receiver).is_ready()
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
                let progress = exchange.progress();
                return self.polled(cx, polled, progress);
            }
            State::Streaming(stream) => {
                let polled = stream.poll(cx, self.clock, &self.delays, &mut self.receiver);
                let progress = stream.progress();
                return self.polled(cx, polled, progress);
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

    /// Ends the request where it is over. Drops what was kept for another try where none can follow.
    fn polled(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<Option<ResponseOutcome>>,
        progress: RequestProgress,
    ) -> Poll<()> {
        if let Poll::Ready(Some(outcome)) = polled {
            self.end(outcome);
            return Poll::Ready(());
        }
        if self.spare.as_mut().is_some_and(|spare| !spare.is_needed(cx, progress)) {
            self.spare = None;
        }
        polled.map(|_| ())
    }

    fn fail(&mut self, at: Timestamp, failure: Failure, cause: Cause) {
        self.receiver.failed(at, DiagnosedFailure { failure, cause });
    }

    fn begin(&mut self) {
        let State::Unsent(request) = std::mem::replace(&mut self.state, State::Over) else { return };
        match self.pool.ready() {
            Ok(carrier) => {
                let origin = Origin::Idle(carrier.opening());
                self.spare = Spare::new(&request, origin);
                self.start_exchange(carrier, origin, request);
            }
            Err(peer) => {
                if peer.as_ref().is_some_and(|peer| self.pool.misses_a_lost_one(peer)) {
                    self.receiver.lost_connection(LostConnection::Idle);
                }
                self.open(request, Try::First, peer);
            }
        }
    }

    fn open(&mut self, request: PreparedRequest, try_: Try, peer: Option<Arc<Peer>>) {
        let (pool, before) = (Arc::clone(&self.pool), std::mem::replace(&mut self.state, State::Over));
        let opening = async move {
            // Until there is another, its place counts: a refused stream goes to another connection, if any has room.
            let _held = before;
            pool.carrier(try_, peer).await
        };
        self.state = State::Opening(Box::pin(opening), request, try_);
    }

    fn opened(&mut self, opened: Result<Carrier, DiagnosedFailure>) {
        let State::Opening(_, request, try_) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        match opened {
            Ok(carrier) => {
                let origin = carrier.origin();
                match (try_, &carrier) {
                    (Try::Second, _) => self.receiver.lost_connection(LostConnection::AsSent),
                    (Try::Unseen, _) if origin == Origin::Opened => self.receiver.lost_connection(LostConnection::Idle),
                    // A server may refuse a stream of a connection that is new.
                    (Try::First, Carrier::Shared(_)) => {
                        self.spare = Spare::new(&request, Origin::Idle(carrier.opening()));
                    }
                    (Try::Unseen, _) | (Try::First, Carrier::Own(_)) => {}
                }
                self.start_exchange(carrier, origin, request);
            }
            Err(DiagnosedFailure { failure: Failure { reason, message }, cause }) => {
                let message = match try_ {
                    Try::First => message,
                    Try::Second => {
                        format!("the server closed the connection before it answered; then {message}")
                    }
                    Try::Unseen => format!("the server did not take the request; then {message}"),
                };
                self.fail(self.clock.now(), Failure { reason, message }, cause);
            }
        }
    }

    fn start_exchange(&mut self, carrier: Carrier, origin: Origin, request: PreparedRequest) {
        carrier.place().into_iter().for_each(|place| self.receiver.connected(place));
        self.state = match carrier {
            Carrier::Own(connection) => {
                State::Sending(Box::new(OpenExchange::start(connection, &self.head, request, origin, self.clock)))
            }
            Carrier::Shared(slot) => State::Streaming(Box::new(OpenStream::start(slot, &self.head, request, origin))),
        };
    }

    fn end(&mut self, outcome: ResponseOutcome) {
        let ResponseOutcome { received, afterwards, lost } = outcome;
        let again = match afterwards {
            Afterwards::AnotherTry => Some(Try::Second),
            Afterwards::Unseen => Some(Try::Unseen),
            _ => None,
        };
        if let (Some(again), Some(Spare { request, .. })) = (again, self.spare.take()) {
            return self.open(request, again, self.pool.turn());
        }
        if let Some((at, failure)) = lost {
            self.fail(at, failure, Cause::Unknown);
        }
        // A stream leaves its connection to others.
        let State::Sending(exchange) = std::mem::replace(&mut self.state, State::Over) else { return };
        if received == ExchangeEnd::Whole && matches!(afterwards, Afterwards::Nothing) {
            self.pool.lost_one(exchange.peer());
        }
        if let Some(connection) = exchange.over(afterwards) {
            self.pool.give_back(connection);
        }
    }
}
