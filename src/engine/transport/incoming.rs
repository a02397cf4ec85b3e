//! Takes the bytes of one response apart: its head, the pieces of its body, and what its connection is good for then.

use std::io;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::http::{Body, Persistence, Piece, ResponseHead, Rest};
use super::receiver::{ArrivalStamp, BodyEnd, ExchangeEnd, Origin, Receiver};
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind};

/// Time that a close takes to be read, beside the network's. A server that closes later had the request.
const CLOSE_IS_READ: Duration = Duration::from_millis(100);
/// Longest wait for the end of the body after `[DONE]`. Servers send both at once, and an error may stand between.
pub(super) const LINGER: Duration = Duration::from_millis(100);
/// Longest time to open a connection that is taken for one of the network.
const LONGEST_OPENING: Duration = Duration::from_secs(1);

impl Origin {
    /// Returns the time after sending within which a close may have met the request. It is a round trip, for which the
    /// opening stands, and the time to read it. `None` on a new connection, which no server closes for having been
    /// idle.
    pub(super) fn race(self) -> Option<Duration> {
        match self {
            Self::Opened => None,
            Self::Idle(opening) => Some(CLOSE_IS_READ + opening.min(LONGEST_OPENING)),
        }
    }
}

/// The response to one request.
pub(crate) struct IncomingResponse {
    origin: Origin,
    sent: Option<Timestamp>,
    stage: Stage,
}

enum Stage {
    /// The head is incomplete; these bytes of it have come.
    Head(Vec<u8>),
    Body(Body, Persistence),
    Over,
}

/// The end of a response.
#[derive(Debug)]
pub(crate) struct ResponseOutcome {
    pub received: ExchangeEnd,
    pub afterwards: Afterwards,
    /// The reason why there is no response, and since when.
    pub lost: Option<(Timestamp, Failure)>,
}

/// The end of a response, once it is over.
type Ended = Option<ResponseOutcome>;

/// The end of a stream of HTTP/2 before that of its response.
#[derive(Debug)]
pub(super) struct BrokenStream {
    pub(super) kind: FailureKind,
    /// The event, in words.
    pub(super) how: String,
    /// Whether the server says that it has not looked at the request.
    pub(super) is_unseen: bool,
}

/// The use of its connection afterwards.
#[derive(Debug)]
pub(crate) enum Afterwards {
    /// Another request.
    Request,
    /// Another request, once this rest of the response has come.
    RequestAfter(Body),
    Nothing,
    /// The request goes out once more over a new connection. This one was idle, and closed as the request was sent. No
    /// byte of an answer came.
    AnotherTry,
    /// The request goes out once more. The server says that it did not look at it.
    Unseen,
}

impl IncomingResponse {
    /// The response to a request over a connection of this origin.
    pub(crate) fn new(origin: Origin) -> Self {
        Self { origin, sent: None, stage: Stage::Head(Vec::new()) }
    }

    /// Notes once that the whole request was written.
    pub(crate) fn request_sent(&mut self, at: Timestamp, receiver: &mut impl Receiver) {
        if self.sent.is_none() {
            self.sent = Some(at);
            receiver.sent(at, self.origin);
        }
    }

    /// Whether a byte of it has come.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(&self.stage, Stage::Head(held) if held.is_empty())
    }

    /// Takes the bytes of one read; none when the server has closed the connection.
    pub(crate) fn take(&mut self, bytes: &[u8], arrival: ArrivalStamp, receiver: &mut impl Receiver) -> Ended {
        match &mut self.stage {
            Stage::Head(_) if bytes.is_empty() => self.closed(arrival.at, "the server closed"),
            Stage::Head(held) if held.is_empty() => self.take_head(bytes, arrival, receiver),
            Stage::Head(held) => {
                let mut all = std::mem::take(held);
                all.extend_from_slice(bytes);
                self.take_head(&all, arrival, receiver)
            }
            Stage::Body(..) if !bytes.is_empty() => self.take_body(bytes, arrival, receiver),
            Stage::Body(Body::UntilClose, _) => self.end(&[], receiver.end(BodyEnd::Clean, arrival)),
            Stage::Body(..) => self.cut_off(arrival, receiver, "closed before the announced end"),
            Stage::Over => None,
        }
    }

    /// Takes the system's error that nothing more will come.
    pub(crate) fn fail(&mut self, error: &io::Error, arrival: ArrivalStamp, receiver: &mut impl Receiver) -> Ended {
        let kind = error.kind();
        if let Stage::Body(..) = self.stage {
            let how = match kind {
                io::ErrorKind::ConnectionReset => "connection reset by the server",
                _ => "closed before the announced end",
            };
            return self.cut_off(arrival, receiver, how);
        }
        match kind {
            io::ErrorKind::ConnectionReset => self.closed(arrival.at, "the server reset"),
            io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => self.closed(arrival.at, "the server closed"),
            kind => self.unanswered(arrival.at, &format!("the network ({kind}) broke")),
        }
    }

    fn take_head(&mut self, bytes: &[u8], arrival: ArrivalStamp, receiver: &mut impl Receiver) -> Ended {
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
        self.begin((body, persistence), (status, &headers), arrival.at, receiver);
        self.take_body(&bytes[length..], arrival, receiver)
    }

    /// Takes the head of the response, which says how the body ends. It may come before the whole request is written,
    /// for example to a body too large for the server.
    pub(super) fn begin(
        &mut self,
        (body, persistence): (Body, Persistence),
        (status, headers): (StatusCode, &HeaderMap),
        at: Timestamp,
        receiver: &mut impl Receiver,
    ) {
        self.request_sent(at, receiver);
        receiver.head(status, headers, at);
        self.stage = Stage::Body(body, persistence);
    }

    /// Takes what ended the stream of this response.
    pub(super) fn broke(
        &mut self,
        broken: &BrokenStream,
        arrival: ArrivalStamp,
        receiver: &mut impl Receiver,
    ) -> Ended {
        let BrokenStream { kind, how, is_unseen } = broken;
        if let Stage::Body(..) = self.stage {
            return self.over(receiver.broken_off(arrival, *kind, |place| format!("{place} ({how})")));
        }
        let outcome = self.lost(arrival.at, *kind, format!("{how} before it answered"))?;
        let afterwards = if *is_unseen { Afterwards::Unseen } else { outcome.afterwards };
        Some(ResponseOutcome { afterwards, ..outcome })
    }

    fn take_body(&mut self, mut bytes: &[u8], arrival: ArrivalStamp, receiver: &mut impl Receiver) -> Ended {
        loop {
            let Stage::Body(body, _) = &mut self.stage else { return None };
            match body.next(&mut bytes) {
                Ok(Piece::Data(piece)) => {
                    if let Some(received) = receiver.piece(piece, arrival) {
                        return self.end(bytes, received);
                    }
                }
                Ok(Piece::More) => return None,
                Ok(Piece::End) => {
                    receiver.trailers(body.trailers());
                    return self.end(bytes, receiver.end(BodyEnd::Clean, arrival));
                }
                Err(error) => {
                    let why = |place: &str| format!("broken chunked framing ({error}): {place}");
                    return self.over(receiver.broken_off(arrival, FailureKind::Malformed, why));
                }
            }
        }
    }

    fn cut_off(&mut self, arrival: ArrivalStamp, receiver: &mut impl Receiver, how: &str) -> Ended {
        let why = |place: &str| format!("{place} ({how})");
        self.over(receiver.broken_off(arrival, FailureKind::Reset, why))
    }

    /// Ends the response as `received`. A complete answer leaves a usable connection, as does an error with a
    /// complete body; anything else does not.
    pub(crate) fn end(&mut self, rest: &[u8], received: ExchangeEnd) -> Ended {
        let Stage::Body(mut body, persistence) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return None;
        };
        let afterwards = match (persistence, body.skip(rest)) {
            (Persistence::KeepAlive, Rest::None) => Afterwards::Request,
            (Persistence::KeepAlive, Rest::Awaited) if received == ExchangeEnd::Whole => Afterwards::RequestAfter(body),
            _ => Afterwards::Nothing,
        };
        Some(ResponseOutcome { received, afterwards, lost: None })
    }

    /// Ends the response with its connection.
    fn over(&mut self, received: ExchangeEnd) -> Ended {
        self.stage = Stage::Over;
        Some(ResponseOutcome { received, afterwards: Afterwards::Nothing, lost: None })
    }

    /// Ends a request without a response.
    fn lost(&mut self, at: Timestamp, reason: FailureKind, message: String) -> Ended {
        let outcome = self.over(ExchangeEnd::Failed)?;
        Some(ResponseOutcome { lost: Some((at, Failure { reason, message })), ..outcome })
    }

    /// The server closed the connection before the whole head of a response came.
    fn closed(&mut self, at: Timestamp, happened: &str) -> Ended {
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
    fn unanswered(&mut self, at: Timestamp, happened: &str) -> Ended {
        self.lost(at, FailureKind::Reset, format!("{happened} the connection before it answered"))
    }
}
