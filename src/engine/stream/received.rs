//! Reads what a transport brings of one answer into its events.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::context::AnswerContext;
use super::reader::ResponseReader;
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents, Cause, DiagnosedFailure, PreparedRequest};
use crate::engine::answer_limits::{AnswerBudget, HeldMemory};
use crate::engine::captured_text::CaptureText;
use crate::engine::transport::{ArrivalStamp, BodyEnd, ExchangeEnd, Origin, Receiver, retry_after};
use crate::record::{Failure, FailureKind, FinishReason, LostConnection};

/// One answer as it comes.
pub(crate) struct ReceivedAnswer {
    context: Arc<AnswerContext>,
    capture: CaptureText,
    budget: AnswerBudget,
    /// Bytes of the request's body.
    body_bytes: usize,
    /// Absent before its head has come and after its end.
    reader: Option<Box<ResponseReader>>,
    /// How long the server asks to wait, where the answer is an error.
    retry_after: Option<Duration>,
    /// Events not returned yet.
    pub(crate) events: AnswerEvents,
    /// The cause of the failure that ended it.
    pub(crate) cause: Cause,
}

impl ReceivedAnswer {
    /// The answer to a request, of which nothing has come.
    pub(crate) fn new(context: Arc<AnswerContext>, request: &PreparedRequest) -> Self {
        let PreparedRequest { capture, budget, .. } = *request;
        Self {
            context,
            capture,
            budget,
            body_bytes: request.body.len(),
            reader: None,
            retry_after: None,
            events: AnswerEvents::new(),
            cause: Cause::Unknown,
        }
    }

    /// Returns why the model stopped, where the text is complete and the answer not over.
    pub(crate) fn finish_reason(&self) -> Option<FinishReason> {
        self.reader.as_ref()?.finish_reason()
    }

    /// Ends the answer, whose failure there `changed` may put otherwise.
    fn over(&mut self, end: AnswerEnd, changed: impl FnOnce(&mut Failure)) -> ExchangeEnd {
        self.cause = self.reader.take().map(|reader| reader.cause()).unwrap_or_default();
        let mut end = AnswerEnd { retry_after: self.retry_after, ..end }.without(&self.context.secrets);
        let received = match &mut end.result {
            Ok(()) => ExchangeEnd::Whole,
            Err(failure) => {
                changed(failure);
                ExchangeEnd::Failed
            }
        };
        self.events.push_back(AnswerEvent::Ended(Box::new(end)));
        received
    }
}

impl Receiver for ReceivedAnswer {
    fn lost_connection(&mut self, lost: LostConnection) {
        self.events.push_back(AnswerEvent::Reconnects);
        if lost == LostConnection::AsSent {
            self.events.push_back(AnswerEvent::Resent);
        }
    }

    fn connected(&mut self, place: NonZeroU16) {
        // A header tells more than the address.
        if self.context.replicas.is_none() {
            self.events.push_back(AnswerEvent::Connected { address: place });
        }
    }

    fn sent(&mut self, at: Timestamp, origin: Origin) {
        self.events.push_back(AnswerEvent::Sent { at, opened_connection: origin == Origin::Opened });
    }

    fn head(&mut self, status: StatusCode, headers: &HeaderMap, at: Timestamp) {
        self.events.push_back(AnswerEvent::Headers { at });
        let AnswerContext { answers, form, secrets, memory, habits, replicas } = &*self.context;
        if let Some(place) = replicas.as_ref().and_then(|replicas| replicas.place(headers)) {
            self.events.push_back(AnswerEvent::Connected { address: place });
        }
        let reader = ResponseReader::new(status, headers, *form, secrets.clone())
            .within(self.budget, self.body_bytes, HeldMemory::none(Arc::clone(memory)))
            .beside(Arc::clone(habits), answers)
            .capturing(self.capture);
        self.reader = Some(Box::new(reader));
        self.retry_after = if status.is_success() { None } else { retry_after(headers, jiff::Timestamp::now()) };
    }

    fn piece(&mut self, bytes: &[u8], arrival: ArrivalStamp) -> Option<ExchangeEnd> {
        let end = self.reader.as_mut()?.bytes(bytes, arrival, &mut self.events)?;
        Some(self.over(end, |_| {}))
    }

    fn trailers(&mut self, lines: &[u8]) {
        if let Some(reader) = &mut self.reader {
            reader.trailers(lines);
        }
    }

    fn is_complete(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.is_complete())
    }

    fn end(&mut self, how: BodyEnd, arrival: ArrivalStamp) -> ExchangeEnd {
        let Some(reader) = &mut self.reader else { return ExchangeEnd::Failed };
        let end = reader.end(how, arrival, &mut self.events);
        self.over(end, |_| {})
    }

    fn broken_off(
        &mut self,
        arrival: ArrivalStamp,
        kind: FailureKind,
        why: impl FnOnce(&str) -> String,
    ) -> ExchangeEnd {
        let Some(reader) = &mut self.reader else { return ExchangeEnd::Failed };
        let end = reader.end(BodyEnd::Broken, arrival, &mut self.events);
        self.over(end, |failure| {
            if failure.reason == FailureKind::Reset {
                *failure = Failure::new(kind, why(&failure.message));
            }
        })
    }

    fn failed(&mut self, at: Timestamp, failure: DiagnosedFailure) {
        let DiagnosedFailure { failure: Failure { reason, message }, cause } = failure;
        self.cause = cause;
        let end = AnswerEnd::failed(at, self.context.secrets.failure(reason, message));
        self.events.push_back(AnswerEvent::Ended(Box::new(end)));
    }
}

#[cfg(test)]
mod tests {
    //! Whole, truncated and broken responses, read without a socket.

    use std::io;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::stream::fuzzing::SocketlessResponse;
    use crate::engine::transport::{Afterwards, Rest};

    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    const EVENTS: [&str; 4] = [
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ];

    fn chunked(events: &[&str]) -> String {
        let chunks: Vec<String> = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len())).collect();
        chunks.concat()
    }

    /// A whole response, each event in a chunk of its own.
    fn whole(before: &str) -> String {
        format!("{before}{HEAD}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n", chunked(&EVENTS))
    }

    fn arrival(read: u64) -> ArrivalStamp {
        ArrivalStamp { at: Timestamp::from_nanos(read), late_by: Duration::ZERO, read }
    }

    /// The outcome of reads that bring these bytes, and the number of chunks with text.
    fn read(pieces: &[&[u8]]) -> (Option<(AnswerEnd, Afterwards)>, usize) {
        let mut reply = SocketlessResponse::new(Origin::Opened);
        let mut outcome = None;
        for (piece, number) in pieces.iter().zip(1..) {
            outcome = reply.take(piece, arrival(number));
            if outcome.is_some() {
                break;
            }
        }
        let chunks = reply.received.events.iter().filter(|event| matches!(event, AnswerEvent::Chunk { .. })).count();
        (outcome, chunks)
    }

    fn failure_of(reply: &mut SocketlessResponse, error: io::ErrorKind) -> Failure {
        let (end, afterwards) = reply.fail(&error.into(), arrival(9)).unwrap();
        assert!(matches!(afterwards, Afterwards::Nothing));
        end.result.unwrap_err()
    }

    #[test]
    fn a_response_is_reported_in_order_whether_or_not_the_request_has_gone_out() {
        for sent_first in [true, false] {
            let mut reply = SocketlessResponse::new(Origin::Idle(Duration::ZERO));
            if sent_first {
                reply.request_sent(Timestamp::from_nanos(1));
            }
            let (end, afterwards) = reply.take(whole("").as_bytes(), arrival(5)).unwrap();
            reply.request_sent(Timestamp::from_nanos(7));
            let sent = Timestamp::from_nanos(if sent_first { 1 } else { 5 });
            let events = &reply.received.events;
            assert_eq!(events[0], AnswerEvent::Sent { at: sent, opened_connection: false });
            assert_eq!(events[1], AnswerEvent::Headers { at: Timestamp::from_nanos(5) });
            assert_eq!((events.len(), end.result), (4, Ok(())));
            assert!(matches!(afterwards, Afterwards::Request));
        }
    }

    #[test]
    fn what_is_left_of_a_response_is_waited_for_and_nothing_else() {
        let all = whole("");
        for (end, good) in [(5, true), (3, true), (0, true)] {
            let mut reply = SocketlessResponse::new(Origin::Opened);
            let outcome = reply.take(&all.as_bytes()[..all.len() - end], arrival(1));
            assert_eq!((outcome.is_some(), reply.received.is_complete()), (end == 0, end > 0));
            let (answered, afterwards) = outcome.or_else(|| reply.complete(arrival(2))).unwrap();
            assert_eq!(answered.result, Ok(()));
            let rest = all.as_bytes()[all.len() - end..].to_vec();
            match afterwards {
                Afterwards::RequestAfter(mut tail) => {
                    assert_eq!((tail.skip(&rest), good), (Rest::None, end > 0));
                }
                Afterwards::Request => assert_eq!(end, 0),
                Afterwards::Nothing | Afterwards::AnotherTry | Afterwards::Unseen => panic!("{end}"),
            }
        }
        let unasked = all.clone() + "HTTP/1.1 200 OK";
        assert!(matches!(read(&[unasked.as_bytes()]).0.unwrap().1, Afterwards::Nothing));
        let closing = all.replace("content-type", "connection: close\r\ncontent-type");
        assert!(matches!(read(&[closing.as_bytes()]).0.unwrap().1, Afterwards::Nothing));
        // A complete error leaves the connection usable, an incomplete one does not.
        let refusal = "HTTP/1.1 429 X\r\ncontent-length: 4\r\n\r\nslow";
        assert!(matches!(read(&[refusal.as_bytes()]).0.unwrap().1, Afterwards::Request));
    }

    #[test]
    fn every_way_to_lose_a_connection_has_its_words() {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, HostUnreachable, UnexpectedEof};
        for (error, words) in [
            (ConnectionReset, "the server reset the connection before it answered"),
            (BrokenPipe, "the server closed the connection before it answered"),
            (UnexpectedEof, "the server closed the connection before it answered"),
            (HostUnreachable, "the network (host unreachable) broke the connection before it answered"),
        ] {
            let failure = failure_of(&mut SocketlessResponse::new(Origin::Opened), error);
            assert_eq!((failure.reason, failure.message.as_str()), (FailureKind::Reset, words));
        }
        let begun = format!("{HEAD}transfer-encoding: chunked\r\n\r\n{}", chunked(&EVENTS[..1]));
        for (error, words) in [
            (ConnectionReset, "(connection reset by the server)"),
            (UnexpectedEof, "(closed before the announced end)"),
        ] {
            let mut reply = SocketlessResponse::new(Origin::Opened);
            assert!(reply.take(begun.as_bytes(), arrival(1)).is_none());
            let failure = failure_of(&mut reply, error);
            assert_eq!(failure.reason, FailureKind::Reset);
            assert!(failure.message.contains("after 1 chunk") && failure.message.ends_with(words), "{failure}");
        }
        let length = format!("{HEAD}content-length: 500\r\n\r\n{}", EVENTS[0]);
        let old = format!("{HEAD}\r\n{}", EVENTS[0]).replace("1.1", "1.0");
        for (bytes, kind, words) in [
            ("", FailureKind::Reset, "the server closed the connection before it answered"),
            ("HTTP/1.1 200 OK\r\nx: ", FailureKind::Reset, "the server closed the connection before it answered"),
            (&begun, FailureKind::Reset, "(closed before the announced end)"),
            (&length, FailureKind::Reset, "(closed before the announced end)"),
            (&old, FailureKind::Truncated, "after 1 chunk"),
            ("FTP\r\n", FailureKind::Malformed, "the response is not HTTP/1.1 (invalid HTTP version)"),
            (&(begun.clone() + "q"), FailureKind::Malformed, "broken chunked framing (byte 63 of the body is 'q'"),
        ] {
            let (end, afterwards) = read(&[bytes.as_bytes(), b""]).0.unwrap();
            let failure = end.result.unwrap_err();
            assert!(failure.reason == kind && failure.message.contains(words), "{failure} is not {kind}: {words}");
            assert!(matches!(afterwards, Afterwards::Nothing));
        }
    }

    /// Returns whether a request is tried again that lost its connection. It was sent at 1 ms and lost it so much
    /// later, in ns, after these bytes of the answer.
    fn tried_again(origin: Origin, later: u64, came: &[u8], error: Option<io::ErrorKind>) -> bool {
        let mut reply = SocketlessResponse::new(origin);
        reply.request_sent(Timestamp::from_nanos(1_000_000));
        if !came.is_empty() {
            assert!(reply.take(came, arrival(1_000_001)).is_none());
        }
        let at = arrival(1_000_000 + later);
        let outcome = match error {
            Some(error) => reply.fail(&error.into(), at),
            None => reply.take(&[], at),
        };
        matches!(outcome.unwrap().1, Afterwards::AnotherTry)
    }

    #[test]
    fn only_a_race_on_an_idle_connection_is_tried_again() {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, HostUnreachable};
        let near = Origin::Idle(Duration::from_micros(100));
        for error in [None, Some(ConnectionReset), Some(BrokenPipe)] {
            assert!(tried_again(near, 1_000_000, b"", error), "{error:?}");
            assert!(!tried_again(Origin::Opened, 1_000_000, b"", error), "{error:?}: it was new");
            assert!(!tried_again(near, 1_000_000, b"H", error), "{error:?}: a byte came");
            assert!(!tried_again(near, 101_000_000, b"", error), "{error:?}: it was at work");
            // A round trip of 0.2 s is no work.
            let far = Origin::Idle(Duration::from_millis(200));
            assert!(tried_again(far, 290_000_000, b"", error) && !tried_again(far, 301_000_000, b"", error));
        }
        assert!(!tried_again(near, 1_000_000, b"", Some(HostUnreachable)), "not the server's doing");
        // The server closed it before all of the request was written.
        let outcome = SocketlessResponse::new(near).fail(&BrokenPipe.into(), arrival(9));
        assert!(matches!(outcome.unwrap().1, Afterwards::AnotherTry));
    }

    proptest! {
        #[test]
        fn any_split_of_a_response_reads_the_same(cuts in prop::collection::btree_set(1usize..600, 0..12)) {
            let interim = "HTTP/1.1 100 Continue\r\n\r\n";
            let all = whole(interim);
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().filter(|&cut| cut < all.len()).chain([all.len()]) {
                pieces.push(&all.as_bytes()[from..cut]);
                from = cut;
            }
            let (outcome, chunks) = read(&pieces);
            prop_assert_eq!((outcome.unwrap().0.result, chunks), (Ok(()), 2));
        }
    }

    #[test]
    fn a_status_of_grpc_beside_the_body_is_a_failure_with_its_words() {
        let trailers = |lines: &str| {
            format!(
                "{HEAD}trailer: grpc-status\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n{lines}\r\n",
                chunked(&EVENTS)
            )
        };
        let head = |fields: &str| format!("{HEAD}{fields}content-length: 0\r\n\r\n");
        let cut =
            |lines: &str| format!("{HEAD}transfer-encoding: chunked\r\n\r\n{}0\r\n{lines}\r\n", chunked(&EVENTS[..2]));
        for (response, message) in [
            (
                trailers("grpc-status: 13\r\ngrpc-message: worker%20lost\r\n"),
                Some("grpc-status 13 (INTERNAL): worker lost"),
            ),
            (trailers("Grpc-Status:14\r\n"), Some("grpc-status 14 (UNAVAILABLE)")),
            (trailers("grpc-status: 99\r\ngrpc-message: odd\r\n"), Some("grpc-status 99: odd")),
            (trailers("grpc-status: 0\r\ngrpc-message: fine\r\n"), None),
            (trailers("x: 13\r\n"), None),
            (head("grpc-status: 8\r\ngrpc-message: no slot\r\n"), Some("grpc-status 8 (RESOURCE_EXHAUSTED): no slot")),
            (cut("grpc-status: 13\r\ngrpc-message: gone\r\n"), Some("grpc-status 13 (INTERNAL): gone")),
        ] {
            let (end, _) = read(&[response.as_bytes()]).0.unwrap();
            let failure = end.result.err();
            assert_eq!(failure.as_ref().map(|failure| failure.message.as_str()), message, "{response}");
            assert!(failure.is_none_or(|failure| failure.reason == FailureKind::StreamError), "{response}");
            // One byte at a time it is the same.
            let bytes: Vec<&[u8]> = response.as_bytes().chunks(1).collect();
            let again = read(&bytes).0.unwrap().0.result.err();
            assert_eq!(again.as_ref().map(|failure| failure.message.as_str()), message, "{response}");
        }
    }
}
