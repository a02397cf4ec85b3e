//! One request and its response over one connection, read in the task that waits for it.

use std::collections::VecDeque;
use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use tokio::task::coop;

use super::dial::Lane;
use super::pool::Pool;
use crate::clock::RunClock;
use crate::engine::cause::{Cause, Fault};
use crate::engine::secrets::Secrets;
use crate::engine::stream::grammar::Close;
use crate::engine::stream::reader::{Arrival, Progress, ResponseReader, failed};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, AnswerForm, PreparedRequest};
use crate::record::{Failure, FailureKind};

/// Steps taken in one poll. A server that never pauses would else keep a thread from everything else, limits and
/// the end of the run among it.
const STEPS_A_POLL: u32 = 32;

/// What every request of a run starts with.
#[derive(Clone, Debug)]
pub(crate) struct RequestHead {
    /// Path on the server.
    pub uri: Uri,
    /// Headers, the host's name among them.
    pub headers: HeaderMap,
    /// What every request's `X-Request-Id` begins with.
    pub id_prefix: String,
    /// How the answer is wanted.
    pub form: AnswerForm,
    /// What no message may repeat.
    pub secrets: Secrets,
}

/// One request on its way: the [`Answer`] of this engine.
pub struct Exchange {
    pool: Arc<Pool>,
    head: Arc<RequestHead>,
    clock: RunClock,
    state: State,
    /// Events found and not told yet.
    events: VecDeque<AnswerEvent>,
    sent_told: bool,
    origin: Origin,
    cause: Cause,
}

/// Where the connection of a request came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Opened for this request.
    Opened,
    /// Opened ahead, and never used.
    Ahead,
    /// Left open after another answer.
    Reused,
}

type Opening = Pin<Box<dyn Future<Output = Result<Lane, Fault>> + Send>>;
type Responding = Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>;

enum State {
    Unsent(PreparedRequest),
    Opening(Opening, PreparedRequest),
    Waiting(Lane, Responding),
    Reading(Lane, Incoming, Box<ResponseReader>),
    Over,
}

impl Exchange {
    /// A request that goes out at the first [`Answer::next`].
    pub(crate) fn new(
        pool: Arc<Pool>,
        head: Arc<RequestHead>,
        request: PreparedRequest,
        clock: RunClock,
    ) -> Self {
        Self {
            pool,
            head,
            clock,
            state: State::Unsent(request),
            events: VecDeque::new(),
            sent_told: false,
            origin: Origin::Opened,
            cause: Cause::Unknown,
        }
    }

    /// What is behind the failure that ended it.
    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }

    /// Moves on until something can be told, but not for ever: after some steps, or when the task has used its
    /// share of tokio's budget, the others get their turn.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<AnswerEvent> {
        for _ in 0..STEPS_A_POLL {
            let budget = ready!(coop::poll_proceed(cx));
            if let Some(event) = self.events.pop_front() {
                budget.made_progress();
                return Poll::Ready(event);
            }
            // A step that must wait puts its state back.
            match std::mem::replace(&mut self.state, State::Over) {
                State::Unsent(request) => self.begin(request),
                State::Opening(mut opening, request) => match opening.as_mut().poll(cx) {
                    Poll::Ready(Ok(lane)) => self.send(lane, request),
                    Poll::Ready(Err(fault)) => {
                        self.cause = fault.cause;
                        self.fail(fault.failure);
                    }
                    Poll::Pending => {
                        self.state = State::Opening(opening, request);
                        return Poll::Pending;
                    }
                },
                State::Waiting(lane, response) => {
                    if self.poll_response(cx, lane, response).is_pending() {
                        return Poll::Pending;
                    }
                }
                State::Reading(lane, body, reader) => {
                    if self.poll_body(cx, lane, body, reader).is_pending() {
                        return Poll::Pending;
                    }
                }
                State::Over => return Poll::Pending,
            }
            budget.made_progress();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn begin(&mut self, request: PreparedRequest) {
        if let Some(lane) = self.pool.take() {
            self.origin = if lane.answers == 0 { Origin::Ahead } else { Origin::Reused };
            self.send(lane, request);
        } else {
            let pool = Arc::clone(&self.pool);
            self.state = State::Opening(Box::pin(async move { pool.open().await }), request);
        }
    }

    fn send(&mut self, mut lane: Lane, prepared: PreparedRequest) {
        lane.marks.begin(self.clock);
        let mut request = Request::new(Full::new(prepared.body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.head.uri.clone();
        *request.headers_mut() = self.head.headers.clone();
        if let Ok(id) = HeaderValue::from_str(&format!("{}{:012x}", self.head.id_prefix, prepared.index)) {
            request.headers_mut().entry("x-request-id").or_insert(id);
        }
        let response = Box::pin(lane.sender.send_request(request));
        self.state = State::Waiting(lane, response);
    }

    fn poll_response(&mut self, cx: &mut Context<'_>, mut lane: Lane, mut response: Responding) -> Poll<()> {
        let connection = lane.connection.as_mut().poll(cx);
        self.tell_sent(&lane, SentBy::Flush);
        match response.as_mut().poll(cx) {
            Poll::Ready(Ok(response)) => {
                self.tell_sent(&lane, SentBy::Response);
                self.events.push_back(AnswerEvent::Headers { at: lane.marks.arrival().at });
                let (parts, body) = response.into_parts();
                let reader = ResponseReader::new(
                    parts.status,
                    &parts.headers,
                    self.head.form,
                    self.head.secrets.clone(),
                );
                self.state = State::Reading(lane, body, Box::new(reader));
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                // What befell the connection says more than what became of the request.
                let failure = match &connection {
                    Poll::Ready(Err(own)) if !own.is_parse() && io_kind(own).is_some() => {
                        self.lost_before_response(own)
                    }
                    _ => self.lost_before_response(&error),
                };
                self.fail(failure);
                Poll::Ready(())
            }
            Poll::Pending => {
                // A finished connection leaves its response ready; anything else would wait for ever.
                if connection.is_ready() {
                    self.fail(self.before_response("the server closed"));
                    return Poll::Ready(());
                }
                self.state = State::Waiting(lane, response);
                if self.events.is_empty() { Poll::Pending } else { Poll::Ready(()) }
            }
        }
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        mut lane: Lane,
        mut body: Incoming,
        mut reader: Box<ResponseReader>,
    ) -> Poll<()> {
        // The connection hands over one piece at a time and reads no further before it is taken, so a piece
        // belongs to the connection's last read.
        let mut piece = Pin::new(&mut body).poll_frame(cx);
        if piece.is_pending() {
            // Its result shows in the body.
            let _ = lane.connection.as_mut().poll(cx);
            piece = Pin::new(&mut body).poll_frame(cx);
        }
        let arrival = lane.marks.arrival();
        match piece {
            Poll::Pending => {
                self.state = State::Reading(lane, body, reader);
                return Poll::Pending;
            }
            Poll::Ready(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else {
                    self.state = State::Reading(lane, body, reader);
                    return Poll::Ready(());
                };
                match reader.bytes(&data, arrival, &mut self.events) {
                    Progress::Reading => self.state = State::Reading(lane, body, reader),
                    Progress::Over(end) => {
                        self.cause = reader.cause();
                        self.finish(end, lane, Some(body));
                    }
                }
            }
            Poll::Ready(None) => {
                self.cause = reader.cause();
                let end = reader.end(Close::Clean, arrival, &mut self.events);
                self.finish(end, lane, None);
            }
            Poll::Ready(Some(Err(error))) => {
                let now = Arrival { at: self.clock.now(), ..arrival };
                self.cause = reader.cause();
                let mut end = reader.end(Close::Broken, now, &mut self.events);
                if let Err(failure) = &mut end.result
                    && failure.reason == FailureKind::Reset
                {
                    *failure = broken(&error, &failure.message);
                }
                self.finish(end, lane, Some(body));
            }
        }
        Poll::Ready(())
    }

    fn tell_sent(&mut self, lane: &Lane, by: SentBy) {
        let sent = match by {
            SentBy::Flush => lane.marks.sent(),
            // A response may come before the whole request has gone out, to a body too large for the server.
            SentBy::Response => lane.marks.sent().or(Some(lane.marks.arrival().at)),
        };
        if let (Some(at), false) = (sent, self.sent_told) {
            self.sent_told = true;
            let opened_connection = self.origin == Origin::Opened;
            self.events.push_back(AnswerEvent::Sent { at, opened_connection });
        }
    }

    /// An answer that came whole, or whose refusal did, leaves a connection that can be used again; any other is
    /// closed here.
    fn finish(&mut self, end: AnswerEnd, lane: Lane, rest: Option<Incoming>) {
        if end.result.is_ok() || rest.is_none() {
            self.pool.give_back(lane, rest);
        }
        self.events.push_back(AnswerEvent::Ended(self.head.secrets.hide_in(end)));
    }

    fn fail(&mut self, failure: Failure) {
        let end = failed(self.clock.now(), failure.reason, failure.message);
        self.events.push_back(AnswerEvent::Ended(end));
    }

    /// The failure of a request to which no answer came because of what `happened` to its connection.
    fn before_response(&self, happened: &str) -> Failure {
        let connection = match self.origin {
            Origin::Opened => "the connection",
            Origin::Ahead => "a connection opened ahead",
            Origin::Reused => "a reused idle connection",
        };
        Failure::new(FailureKind::Reset, format!("{happened} {connection} before it answered"))
    }

    fn lost_before_response(&self, error: &hyper::Error) -> Failure {
        if error.is_parse() {
            let message = format!("the response is not HTTP/1.1 ({error})");
            return Failure::new(FailureKind::Malformed, message);
        }
        match io_kind(error) {
            Some(io::ErrorKind::ConnectionReset) => self.before_response("the server reset"),
            None | Some(io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof) => {
                self.before_response("the server closed")
            }
            Some(kind) => self.before_response(&format!("the network ({kind}) broke")),
        }
    }
}

/// What the system said of the connection, where it said something.
fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// What shows that a request was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentBy {
    Flush,
    Response,
}

/// The failure behind a body that broke off.
fn broken(error: &hyper::Error, place: &str) -> Failure {
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
            let cause = cause.map(ToString::to_string).unwrap_or_default();
            Failure::new(FailureKind::Malformed, format!("broken chunked framing ({cause}): {place}"))
        }
        Some(io::ErrorKind::ConnectionReset) => {
            Failure::new(FailureKind::Reset, format!("{place} (connection reset by the server)"))
        }
        _ => Failure::new(FailureKind::Reset, format!("{place} (closed before the announced end)")),
    }
}

impl Answer for Exchange {
    async fn next(&mut self) -> AnswerEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }
}
