//! What the fuzz targets of `tests/fuzz` ask of the readers of streams.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::context::AnswerContext;
use super::fault::{blamed_field, words_of};
use super::reader::ResponseReader;
use super::received::ReceivedAnswer;
use super::sse::SseFramer;
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents, Cause, DiagnosedFailure, PreparedRequest};
use crate::engine::captured_text::CaptureText;
use crate::engine::secrets::Secrets;
use crate::engine::target::AnswerForm;
use crate::engine::transport::{
    Afterwards, ArrivalStamp, BodyEnd, IncomingResponse, Origin, Receiver, ResponseOutcome,
};

/// Stands for a cut in fuzzed bytes: no text of UTF-8 contains it.
const CUT: u8 = 0xFF;

/// The bytes in pieces, cut wherever [`CUT`] is, and without it.
pub(crate) fn pieces(data: &[u8]) -> Vec<&[u8]> {
    data.split(|&byte| byte == CUT).filter(|piece| !piece.is_empty()).collect()
}

/// All reads are of one moment, so that pieces cannot show.
pub(crate) const ARRIVAL: ArrivalStamp = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 1 };

/// A response that is read without a socket.
pub(crate) struct SocketlessResponse {
    response: IncomingResponse,
    pub(crate) received: ReceivedAnswer,
}

impl SocketlessResponse {
    /// A response to a request of nothing, over a connection of this origin.
    pub(crate) fn new(origin: Origin) -> Self {
        let context = AnswerContext::new(Default::default(), AnswerForm::Streamed, Secrets::default());
        let received = ReceivedAnswer::new(Arc::new(context), &PreparedRequest::new(0, bytes::Bytes::new()));
        Self { response: IncomingResponse::new(origin), received }
    }

    pub(crate) fn request_sent(&mut self, at: Timestamp) {
        self.response.request_sent(at, &mut self.received);
    }

    pub(crate) fn take(&mut self, bytes: &[u8], arrival: ArrivalStamp) -> Option<(AnswerEnd, Afterwards)> {
        let outcome = self.response.take(bytes, arrival, &mut self.received)?;
        Some(self.over(outcome))
    }

    pub(crate) fn fail(&mut self, error: &std::io::Error, arrival: ArrivalStamp) -> Option<(AnswerEnd, Afterwards)> {
        let outcome = self.response.fail(error, arrival, &mut self.received)?;
        Some(self.over(outcome))
    }

    /// Ends a complete answer before its body.
    pub(crate) fn complete(&mut self, arrival: ArrivalStamp) -> Option<(AnswerEnd, Afterwards)> {
        let received = self.received.end(BodyEnd::Clean, arrival);
        let outcome = self.response.end(&[], received)?;
        Some(self.over(outcome))
    }

    fn over(&mut self, outcome: ResponseOutcome) -> (AnswerEnd, Afterwards) {
        if let Some((at, failure)) = outcome.lost {
            self.received.failed(at, DiagnosedFailure { failure, cause: Cause::Unknown });
        }
        match self.received.events.pop_back() {
            Some(AnswerEvent::Ended(end)) => (*end, outcome.afterwards),
            other => unreachable!("the end is the last event, not {other:?}"),
        }
    }
}

fn read_response(pieces: &[&[u8]]) -> (AnswerEvents, Option<AnswerEnd>) {
    let mut response = SocketlessResponse::new(Origin::Opened);
    // The last read is empty: the server closes.
    let end = pieces.iter().chain([&&b""[..]]).find_map(|piece| response.take(piece, ARRIVAL));
    (response.received.events, end.map(|(end, _)| end))
}

/// A response has the same events and end however it is cut, and an end.
///
/// # Panics
///
/// When it has not.
pub fn response(data: &[u8]) {
    let pieces = pieces(data);
    let whole = read_response(&[&pieces.concat()]);
    assert!(whole.1.is_some(), "a response that is closed has ended");
    assert_eq!(read_response(&pieces), whole);
}

type OwnedEvent = (Option<Vec<u8>>, Vec<u8>);

fn framed(pieces: &[&[u8]]) -> (Vec<OwnedEvent>, bool) {
    let mut framer = SseFramer::default();
    let mut events = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while let Some(event) = framer.next_event(&mut rest) {
            events.push((event.name.map(std::borrow::Cow::into_owned), event.data.into_owned()));
        }
    }
    (events, framer.held() > 0)
}

/// An event stream has the same events however it is cut.
///
/// # Panics
///
/// When it has not.
pub fn event_stream(data: &[u8]) {
    let pieces = pieces(data);
    assert_eq!(framed(&pieces), framed(&[&pieces.concat()]));
}

fn answered(pieces: &[&[u8]], status: StatusCode, content_type: &'static str) -> (AnswerEvents, AnswerEnd) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let form = if content_type.ends_with("json") { AnswerForm::Whole } else { AnswerForm::Streamed };
    let mut reader = ResponseReader::new(status, &headers, form, Secrets::default()).capturing(CaptureText::Yes);
    let mut events = AnswerEvents::new();
    for piece in pieces {
        if let Some(end) = reader.bytes(piece, ARRIVAL, &mut events) {
            return (events, end);
        }
    }
    let end = reader.end(BodyEnd::Clean, ARRIVAL, &mut events);
    (events, end)
}

/// Reads a whole answer, and the same as an error, and the words in them. It reads them however they are cut.
///
/// # Panics
///
/// When cuts show, or the words are long.
pub fn whole_answer(data: &[u8]) {
    let pieces = pieces(data);
    let all = pieces.concat();
    for status in [StatusCode::OK, StatusCode::BAD_REQUEST] {
        let json = "application/json";
        assert_eq!(answered(&pieces, status, json), answered(&[&all], status, json));
    }
    let _ = blamed_field(&all);
    assert!(words_of(&all, &Secrets::default()).len() < 4_096);
}

/// An answer has the same chunks and end however it is cut. The first byte chooses status and content type.
///
/// # Panics
///
/// When it has not.
pub fn answer(data: &[u8]) {
    let Some((&first, body)) = data.split_first() else { return };
    let (status, content_type) = match first % 4 {
        0 => (StatusCode::INTERNAL_SERVER_ERROR, "application/json"),
        1 => (StatusCode::OK, "application/json"),
        _ => (StatusCode::OK, "text/event-stream"),
    };
    let pieces = pieces(body);
    assert_eq!(answered(&pieces, status, content_type), answered(&[&pieces.concat()], status, content_type));
}
