//! One request and its response over one connection, read in the task that waits for it.

use std::collections::VecDeque;
use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};

use super::dial::Lane;
use super::pool::Pool;
use crate::clock::RunClock;
use crate::engine::secrets::Secrets;
use crate::engine::stream::grammar::Close;
use crate::engine::stream::reader::{Arrival, Progress, ResponseReader, failed};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, AnswerForm, PreparedRequest};
use crate::record::{Failure, FailureKind};

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
    fresh_connection: bool,
}

type Opening = Pin<Box<dyn Future<Output = Result<Lane, Failure>> + Send>>;
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
            fresh_connection: false,
        }
    }

    /// Moves on until something can be told.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<AnswerEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(event);
            }
            // A step that must wait puts its state back.
            match std::mem::replace(&mut self.state, State::Over) {
                State::Unsent(request) => self.begin(request),
                State::Opening(mut opening, request) => match opening.as_mut().poll(cx) {
                    Poll::Ready(Ok(lane)) => self.send(lane, request),
                    Poll::Ready(Err(failure)) => self.fail(failure),
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
        }
    }

    fn begin(&mut self, request: PreparedRequest) {
        if let Some(lane) = self.pool.take() {
            self.send(lane, request);
        } else {
            self.fresh_connection = true;
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
                let reader = ResponseReader::new(parts.status, &parts.headers, self.head.form);
                self.state = State::Reading(lane, body, Box::new(reader));
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                let failure = self.lost_before_response(&error);
                self.fail(failure);
                Poll::Ready(())
            }
            Poll::Pending => {
                // A finished connection leaves its response ready; anything else would wait for ever.
                if connection.is_ready() {
                    self.fail(Failure::new(FailureKind::Reset, self.before_response("closed")));
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
                match reader.bytes(data, arrival, &mut self.events) {
                    Progress::Reading => self.state = State::Reading(lane, body, reader),
                    Progress::Over(end) => self.finish(end, lane, Some(body)),
                }
            }
            Poll::Ready(None) => {
                let end = reader.end(Close::Clean, arrival, &mut self.events);
                self.finish(end, lane, None);
            }
            Poll::Ready(Some(Err(error))) => {
                let now = Arrival { at: self.clock.now(), ..arrival };
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
            self.events.push_back(AnswerEvent::Sent { at, opened_connection: self.fresh_connection });
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

    fn before_response(&self, what: &str) -> String {
        if self.fresh_connection {
            format!("the server {what} the connection before it answered")
        } else {
            format!("the server {what} a reused idle connection before it answered")
        }
    }

    fn lost_before_response(&self, error: &hyper::Error) -> Failure {
        if error.is_parse() {
            let message = format!("the response is not HTTP/1.1 ({error})");
            return Failure::new(FailureKind::Malformed, message);
        }
        let closed = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
        let what = if closed { "closed" } else { "reset" };
        Failure::new(FailureKind::Reset, self.before_response(what))
    }
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
