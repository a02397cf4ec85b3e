//! What the fuzz targets of `tests/fuzz` ask of the reader of HTTP responses.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use super::http::RequestHead;
use super::reply::{IncomingResponse, Origin};
use crate::engine::answer::{AnswerEnd, AnswerEvents, PreparedRequest};
use crate::engine::secrets::Secrets;
use crate::engine::stream::fuzzing::{ARRIVAL, pieces};
use crate::engine::target::AnswerForm;

fn taken(pieces: &[&[u8]]) -> (AnswerEvents, Option<AnswerEnd>) {
    let head =
        RequestHead::new("/", &HeaderMap::new(), String::new(), AnswerForm::Streamed, Secrets::default());
    let request = PreparedRequest::new(0, Bytes::new());
    let mut reply = IncomingResponse::new(Arc::new(head), Origin::Opened, &request);
    let mut events = AnswerEvents::new();
    // The last read is empty: the server closes.
    for piece in pieces.iter().chain([&&b""[..]]) {
        if let Some(outcome) = reply.take(piece, ARRIVAL, &mut events) {
            return (events, Some(outcome.end));
        }
    }
    (events, None)
}

/// A response has the same events and end however it is cut, and an end.
///
/// # Panics
///
/// When it has not.
pub fn response(data: &[u8]) {
    let pieces = pieces(data);
    let whole = taken(&[&pieces.concat()]);
    assert!(whole.1.is_some(), "a response that is closed has ended");
    assert_eq!(taken(&pieces), whole);
}
