//! Reads the bytes of one response into the events of an answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::http::{Body, Persistence, Piece, RequestHead, ResponseHead, Rest, retry_after};
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents, Cause, PreparedRequest};
use crate::engine::answer_limits::{AnswerBudget, HeldMemory};
use crate::engine::captured_text::CaptureText;
use crate::engine::stream::grammar::BodyEnd;
use crate::engine::stream::reader::{ArrivalStamp, ResponseReader};
use crate::record::{Failure, FailureKind, FinishReason};

/// Time that a close takes to be read, beside the network's: a server that closes later had the request.
const CLOSE_IS_READ: Duration = Duration::from_millis(100);
/// Longest time to open a connection that is taken for one of the network.
const LONGEST_OPENING: Duration = Duration::from_secs(1);

/// How the connection of a request was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Opened for this request.
    Opened,
    /// Open before: kept after another answer, or opened ahead; opening it took this long.
    Idle(Duration),
}

impl Origin {
    /// Time after sending within which a close may have met the request on its way: a round trip, for which the opening
    /// stands, and the time to read it. `None` on a new connection, which no server closes for having been idle.
    pub(super) fn race(self) -> Option<Duration> {
        match self {
            Self::Opened => None,
            Self::Idle(opening) => Some(CLOSE_IS_READ + opening.min(LONGEST_OPENING)),
        }
    }
}

/// The response to one request.
pub(super) struct IncomingResponse {
    head: Arc<RequestHead>,
    origin: Origin,
    capture: CaptureText,
    budget: AnswerBudget,
    /// Bytes of the request's body.
    body_bytes: usize,
    sent: Option<Timestamp>,
    stage: Stage,
}

enum Stage {
    /// The head is incomplete; these bytes of it have come.
    Head(Vec<u8>),
    Body(Box<Open>),
    Over,
}

/// A response whose body is being read.
struct Open {
    reader: ResponseReader,
    body: Body,
    persistence: Persistence,
    /// How long the server asks to wait, where the response is an error.
    retry_after: Option<Duration>,
}

/// How a response ended.
#[derive(Debug)]
pub(super) struct ResponseOutcome {
    pub end: AnswerEnd,
    /// The cause of its failure.
    pub cause: Cause,
    pub afterwards: Afterwards,
}

/// What its connection can be used for afterwards.
#[derive(Debug)]
pub(super) enum Afterwards {
    /// Another request.
    Request,
    /// Another request, once this rest of the response has come.
    RequestAfter(Body),
    Nothing,
    /// The request, sent once more over a new connection: this one was idle, and closed as the request was
    /// sent. No byte of an answer came.
    AnotherTry,
}

impl IncomingResponse {
    /// The response to a request with this head.
    pub(super) fn new(head: Arc<RequestHead>, origin: Origin, request: &PreparedRequest) -> Self {
        let PreparedRequest { capture, budget, .. } = *request;
        let body_bytes = request.body.len();
        Self { head, origin, capture, budget, body_bytes, sent: None, stage: Stage::Head(Vec::new()) }
    }

    /// Notes once that the whole request was written.
    pub(super) fn request_sent(&mut self, at: Timestamp, events: &mut AnswerEvents) {
        if self.sent.is_none() {
            self.sent = Some(at);
            events.push_back(AnswerEvent::Sent { at, opened_connection: self.origin == Origin::Opened });
        }
    }

    /// Whether a byte of it has come.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(&self.stage, Stage::Head(held) if held.is_empty())
    }

    /// Whether the whole answer has come: what is left of the body is awaited only for a short time.
    pub(super) fn is_complete(&self) -> bool {
        matches!(&self.stage, Stage::Body(open) if open.reader.is_complete())
    }

    /// Ends a complete answer before its body.
    pub(super) fn complete(
        &mut self,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        self.close(BodyEnd::Clean, &[], arrival, events)
    }

    /// Why the model stopped, where all of the text has come and the response is not over.
    pub(super) fn finish_reason(&self) -> Option<FinishReason> {
        let Stage::Body(open) = &self.stage else { return None };
        open.reader.finish_reason()
    }

    /// Takes the bytes of one read; none when the server has closed the connection.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        match &mut self.stage {
            Stage::Head(_) if bytes.is_empty() => self.closed(arrival.at, "the server closed"),
            Stage::Head(held) if held.is_empty() => self.take_head(bytes, arrival, events),
            Stage::Head(held) => {
                let mut all = std::mem::take(held);
                all.extend_from_slice(bytes);
                self.take_head(&all, arrival, events)
            }
            Stage::Body(_) if !bytes.is_empty() => self.take_body(bytes, arrival, events),
            Stage::Body(open) if matches!(open.body, Body::UntilClose) => {
                self.close(BodyEnd::Clean, &[], arrival, events)
            }
            Stage::Body(_) => self.cut_off(arrival, events, "closed before the announced end"),
            Stage::Over => None,
        }
    }

    /// Takes the system's error that nothing more will come.
    pub(super) fn fail(
        &mut self,
        error: &io::Error,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        let kind = error.kind();
        if let Stage::Body(_) = self.stage {
            let how = match kind {
                io::ErrorKind::ConnectionReset => "connection reset by the server",
                _ => "closed before the announced end",
            };
            return self.cut_off(arrival, events, how);
        }
        match kind {
            io::ErrorKind::ConnectionReset => self.closed(arrival.at, "the server reset"),
            io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                self.closed(arrival.at, "the server closed")
            }
            kind => self.unanswered(arrival.at, &format!("the network ({kind}) broke")),
        }
    }

    fn take_head(
        &mut self,
        bytes: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        let ResponseHead { status, headers, body, persistence, length } = match ResponseHead::parse(bytes) {
            Ok(Some(head)) => head,
            Ok(None) => {
                self.stage = Stage::Head(bytes.to_vec());
                return None;
            }
            Err(error) => {
                let message = format!("the response is not HTTP/1.1 ({error})");
                return self.lost(arrival.at, FailureKind::Malformed, message);
            }
        };
        // A response may come before the whole request is written, for example to a body too large for the
        // server.
        self.request_sent(arrival.at, events);
        events.push_back(AnswerEvent::Headers { at: arrival.at });
        let reader = ResponseReader::new(status, &headers, self.head.form, self.head.secrets.clone())
            .within(self.budget, self.body_bytes, HeldMemory::none(Arc::clone(&self.head.memory)))
            .beside(Arc::clone(&self.head.habits))
            .capturing(self.capture);
        let retry_after =
            if status.is_success() { None } else { retry_after(&headers, jiff::Timestamp::now()) };
        self.stage = Stage::Body(Box::new(Open { reader, body, persistence, retry_after }));
        self.take_body(&bytes[length..], arrival, events)
    }

    fn take_body(
        &mut self,
        mut bytes: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        loop {
            let Stage::Body(open) = &mut self.stage else { return None };
            match open.body.next(&mut bytes) {
                Ok(Piece::Data(piece)) => {
                    if let Some(end) = open.reader.bytes(piece, arrival, events) {
                        return self.finish(bytes, |reader| (reader.cause(), end));
                    }
                }
                Ok(Piece::More) => return None,
                Ok(Piece::End) => {
                    open.reader.trailers(open.body.trailers());
                    return self.close(BodyEnd::Clean, bytes, arrival, events);
                }
                Err(error) => {
                    return self.broken_off(arrival, events, FailureKind::Malformed, |place| {
                        format!("broken chunked framing ({error}): {place}")
                    });
                }
            }
        }
    }

    fn cut_off(
        &mut self,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        how: &str,
    ) -> Option<ResponseOutcome> {
        self.broken_off(arrival, events, FailureKind::Reset, |place| format!("{place} ({how})"))
    }

    /// The body broke off; `why` makes a message of the place.
    fn broken_off(
        &mut self,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        kind: FailureKind,
        why: impl FnOnce(&str) -> String,
    ) -> Option<ResponseOutcome> {
        let mut outcome = self.close(BodyEnd::Broken, &[], arrival, events)?;
        if let Err(failure) = &mut outcome.end.result
            && failure.reason == FailureKind::Reset
        {
            *failure = Failure::new(kind, why(&failure.message));
        }
        outcome.afterwards = Afterwards::Nothing;
        Some(outcome)
    }

    fn close(
        &mut self,
        close: BodyEnd,
        rest: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<ResponseOutcome> {
        self.finish(rest, |mut reader| {
            let end = reader.end(close, arrival, events);
            (reader.cause(), end)
        })
    }

    /// Ends the response with its reader's judgement. A complete answer leaves a usable connection, as does
    /// an error with a complete body; anything else does not.
    fn finish(
        &mut self,
        rest: &[u8],
        judge: impl FnOnce(ResponseReader) -> (Cause, AnswerEnd),
    ) -> Option<ResponseOutcome> {
        let Stage::Body(open) = std::mem::replace(&mut self.stage, Stage::Over) else { return None };
        let Open { reader, mut body, persistence, retry_after } = *open;
        let (cause, end) = judge(reader);
        let end = AnswerEnd { retry_after, ..end };
        let afterwards = match (persistence, body.skip(rest)) {
            (Persistence::KeepAlive, Rest::None) => Afterwards::Request,
            (Persistence::KeepAlive, Rest::Awaited) if end.result.is_ok() => Afterwards::RequestAfter(body),
            _ => Afterwards::Nothing,
        };
        Some(ResponseOutcome { end: end.without(&self.head.secrets), cause, afterwards })
    }

    /// Ends a request without a response.
    fn lost(&mut self, at: Timestamp, kind: FailureKind, message: String) -> Option<ResponseOutcome> {
        self.stage = Stage::Over;
        let end = AnswerEnd::failed(at, self.head.secrets.failure(kind, message));
        Some(ResponseOutcome { end, cause: Cause::Unknown, afterwards: Afterwards::Nothing })
    }

    /// The server closed the connection before the whole head of a response came.
    fn closed(&mut self, at: Timestamp, happened: &str) -> Option<ResponseOutcome> {
        let unanswered = !self.has_begun();
        let met = |race| self.sent.is_none_or(|sent| at.since(sent) <= race);
        let on_its_way = self.origin.race().is_some_and(met);
        let mut outcome = self.unanswered(at, happened)?;
        if unanswered && on_its_way {
            outcome.afterwards = Afterwards::AnotherTry;
        }
        Some(outcome)
    }

    /// Ends a request without a response because of what `happened` to its connection.
    fn unanswered(&mut self, at: Timestamp, happened: &str) -> Option<ResponseOutcome> {
        self.lost(at, FailureKind::Reset, format!("{happened} the connection before it answered"))
    }
}

#[cfg(test)]
mod tests;
