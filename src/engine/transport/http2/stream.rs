//! One request as a stream of a shared connection, and what comes of it.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use h2::client::ResponseFuture;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Sleep, sleep};

use super::lanes::StreamSlot;
use crate::clock::{RunClock, Timestamp};
use crate::engine::answer::PreparedRequest;
use crate::engine::transport::http::{Body, Persistence, RequestHead};
use crate::engine::transport::incoming::{BrokenStream, IncomingResponse, LINGER, ResponseOutcome};
use crate::engine::transport::receiver::{ArrivalStamp, BodyEnd, Origin, Receiver};
use crate::engine::transport::socket::ReadDelays;
use crate::engine::transport::spare::RequestProgress;
use crate::record::FailureKind;

/// A request with its stream. Dropping it cancels the request by `RST_STREAM`; other streams go on.
pub(crate) struct OpenStream {
    slot: StreamSlot,
    id: u32,
    stage: Stage,
    reply: IncomingResponse,
    is_sent: bool,
    /// Begins when the whole answer has come and its stream goes on.
    linger: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    /// The connection takes no requests.
    Refused(Option<h2::Error>),
    /// The answer has not begun.
    Head(ResponseFuture),
    Body(RecvStream),
}

impl OpenStream {
    /// Hands a request to the connection of `slot`, which writes it at once.
    pub(crate) fn start(slot: StreamSlot, head: &RequestHead, request: PreparedRequest, origin: Origin) -> Self {
        let mut requests = slot.connection.requests.clone();
        let mut ledger = slot.connection.ledger.open();
        let begun = requests.send_request(head.of_stream(&request), false).and_then(|(response, mut body)| {
            body.send_data(request.body, true)?;
            Ok((response, body))
        });
        let (id, stage) = match begun {
            Ok((response, body)) => (body.stream_id().as_u32(), Stage::Head(response)),
            Err(error) => (0, Stage::Refused(Some(error))),
        };
        ledger.begin(id);
        drop(ledger);
        Self { slot, id, stage, reply: IncomingResponse::new(origin), is_sent: false, linger: None }
    }

    /// How far the request has come.
    pub(crate) fn progress(&self) -> RequestProgress {
        match (self.reply.has_begun(), self.is_sent) {
            (true, _) => RequestProgress::Answered,
            (false, true) => RequestProgress::Sent,
            (false, false) => RequestProgress::Unsent,
        }
    }

    /// Takes what has come, which goes to `receiver`.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        clock: RunClock,
        delays: &ReadDelays,
        receiver: &mut impl Receiver,
    ) -> Poll<Option<ResponseOutcome>> {
        self.note(cx, clock, delays, receiver);
        let polled = self.poll_stage(cx, clock, receiver);
        if polled.is_pending() && receiver.is_complete() {
            ready!(self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER))).as_mut().poll(cx));
            let end = receiver.end(BodyEnd::Clean, ArrivalStamp { at: clock.now(), ..self.last_arrival(clock) });
            return Poll::Ready(self.reply.end(&[], end));
        }
        polled
    }

    /// Takes the stream's part of the ledger: its sending, and the reads counted with it.
    fn note(&mut self, cx: &mut Context<'_>, clock: RunClock, delays: &ReadDelays, receiver: &mut impl Receiver) {
        let connection = &self.slot.connection;
        let mut ledger = connection.ledger.open();
        let notes = ledger.of_stream(self.id);
        for read in notes.reads.drain(..) {
            delays.add_read(read.streams, read.delay);
        }
        match notes.sent {
            None => notes.waker = Some(cx.waker().clone()),
            Some(_) if self.is_sent => {}
            Some(at) => {
                self.is_sent = true;
                self.reply.request_sent(clock.timestamp(connection.clock.instant(at)), receiver);
            }
        }
    }

    fn poll_stage(
        &mut self,
        cx: &mut Context<'_>,
        clock: RunClock,
        receiver: &mut impl Receiver,
    ) -> Poll<Option<ResponseOutcome>> {
        let failed = match &mut self.stage {
            Stage::Refused(error) => error.take(),
            Stage::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    self.stage = Stage::Body(body);
                    let came = self.slot.connection.ledger.open().of_stream(self.id).head;
                    let arrival = came.map_or_else(|| self.last_arrival(clock), |came| self.on(clock, came));
                    // The end of the stream is that of the body.
                    let ends = (Body::UntilClose, Persistence::Close);
                    self.reply.begin(ends, (head.status, &head.headers), arrival.at, receiver);
                    return Poll::Ready(None);
                }
                Err(error) => Some(error),
            },
            Stage::Body(body) => match ready!(body.poll_data(cx)) {
                Some(Ok(bytes)) => {
                    // It cannot be more than came.
                    let _ = body.flow_control().release_capacity(bytes.len());
                    return Poll::Ready(self.take(&bytes, clock, receiver));
                }
                Some(Err(error)) => Some(error),
                None => match ready!(body.poll_trailers(cx)) {
                    Ok(trailers) => {
                        receiver.trailers(&lines_of(&trailers.unwrap_or_default()));
                        let arrival = self.last_arrival(clock);
                        return Poll::Ready(self.reply.take(&[], arrival, receiver));
                    }
                    Err(error) => Some(error),
                },
            },
        };
        let arrival = self.last_arrival(clock);
        Poll::Ready(match failed {
            Some(error) => match error.get_io() {
                Some(error) => self.reply.fail(error, arrival, receiver),
                None => self.reply.broke(&broken(&error), arrival, receiver),
            },
            None => None,
        })
    }

    /// Takes data of the answer, cut where the reads that brought it were.
    fn take(&mut self, mut bytes: &[u8], clock: RunClock, receiver: &mut impl Receiver) -> Option<ResponseOutcome> {
        while !bytes.is_empty() {
            let run = self.slot.connection.ledger.open().of_stream(self.id).next_run(bytes.len());
            let (length, arrival) = match run {
                Some(run) => (run.bytes, self.on(clock, run.arrival)),
                None => (bytes.len(), self.last_arrival(clock)),
            };
            let (piece, rest) = bytes.split_at(length);
            if let Some(outcome) = self.reply.take(piece, arrival, receiver) {
                return Some(outcome);
            }
            bytes = rest;
        }
        None
    }

    /// The arrival of the last frame of the stream; where none has come, now.
    fn last_arrival(&self, clock: RunClock) -> ArrivalStamp {
        let none = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 0 };
        match self.slot.connection.ledger.open().of_stream(self.id).last {
            Some(last) => self.on(clock, last),
            None => ArrivalStamp { at: clock.now(), ..none },
        }
    }

    /// An arrival on the clock of the request.
    fn on(&self, clock: RunClock, arrival: ArrivalStamp) -> ArrivalStamp {
        ArrivalStamp { at: clock.timestamp(self.slot.connection.clock.instant(arrival.at)), ..arrival }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.slot.connection.ledger.open().forget(self.id);
    }
}

/// Trailers as lines.
fn lines_of(trailers: &HeaderMap) -> Vec<u8> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat()
    };
    trailers.iter().flat_map(line).collect()
}

/// Returns what ended a stream, in the words and codes of HTTP/2.
fn broken(error: &h2::Error) -> BrokenStream {
    let code = error.reason().map_or_else(|| error.to_string(), |reason| format!("{reason:?}"));
    // A server may say why, behind the code.
    let said = error.to_string();
    let said = said.split_once(" (b\"").and_then(|(_, said)| said.strip_suffix("\")"));
    let code = said.map_or(code.clone(), |said| format!("{code}: {said}"));
    let (kind, how) = match (error.is_go_away(), error.is_reset(), error.is_remote()) {
        (true, _, true) => (FailureKind::Reset, format!("the server closed the connection by GOAWAY ({code})")),
        (_, true, true) => (FailureKind::Reset, format!("the server reset the stream ({code})")),
        (true, ..) | (_, true, _) => (FailureKind::Malformed, format!("what the server sends is not HTTP/2 ({code})")),
        _ => (FailureKind::Internal, format!("the request cannot be sent over HTTP/2 ({error})")),
    };
    // A stream beyond the last of a GOAWAY has not been looked at either.
    let is_unseen = error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM));
    BrokenStream { kind, how, is_unseen }
}
