//! Answers that end their stream of HTTP/2 before its head.

use axum::response::{IntoResponse as _, Response};
use h2::Reason;

/// The mark of an answer in whose place the stream is reset.
#[derive(Clone, Copy)]
pub(crate) struct ResetStream(Reason);

impl ResetStream {
    /// An answer that resets its stream, as a server does whose handler died.
    pub(super) fn response() -> Response {
        let mut response = ().into_response();
        response.extensions_mut().insert(Self(Reason::INTERNAL_ERROR));
        response
    }

    /// Returns the answer, or the error by which HTTP resets the stream in its place.
    pub(crate) fn of_answer(response: Response) -> Result<Response, h2::Error> {
        match response.extensions().get::<Self>() {
            Some(Self(reason)) => Err((*reason).into()),
            None => Ok(response),
        }
    }
}
