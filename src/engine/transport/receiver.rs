//! Events of an exchange and their receiver: bytes with arrivals, without their meaning.

use std::num::NonZeroU16;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::clock::Timestamp;
use crate::engine::answer::DiagnosedFailure;
use crate::record::{FailureKind, LostConnection};

/// The stamp of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalStamp {
    /// Arrival of the bytes. It is the kernel's stamp where there is one, else the moment when the read returned.
    pub at: Timestamp,
    /// Time by which its first bytes may have come earlier. It is there where the client read so late that it matters.
    pub late_by: Duration,
    /// Number of the read on this connection.
    pub read: u64,
}

/// The end of the body of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The announced end. It is the last chunk of a chunked body, all of a content length, or a plain close where there
    /// was neither.
    Clean,
    /// Earlier than announced.
    Broken,
}

/// The origin of the connection of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Opened for this request.
    Opened,
    /// Open before: kept after another answer, or opened ahead; opening it took this long.
    Idle(Duration),
}

/// Whether what was received is a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeEnd {
    Whole,
    Failed,
}

/// Takes what comes of one exchange, and knows what it means.
pub(crate) trait Receiver: Send + 'static {
    /// Notes that the server had closed a connection that the request could have used. The request then opens another.
    fn lost_connection(&mut self, lost: LostConnection);

    /// Notes the place of the address that the request goes to, from 1.
    fn connected(&mut self, place: NonZeroU16);

    /// The whole request was written.
    fn sent(&mut self, at: Timestamp, origin: Origin);

    /// The status and the headers of a response came.
    fn head(&mut self, status: StatusCode, headers: &HeaderMap, at: Timestamp);

    /// Takes a piece of the body; where that ends the answer, says what it is.
    fn piece(&mut self, bytes: &[u8], arrival: ArrivalStamp) -> Option<ExchangeEnd>;

    /// Takes the lines behind the body.
    fn trailers(&mut self, lines: &[u8]);

    /// Returns whether the whole answer has come. What is left of the body is awaited only for a short time.
    fn is_complete(&self) -> bool;

    /// The body is over.
    fn end(&mut self, how: BodyEnd, arrival: ArrivalStamp) -> ExchangeEnd;

    /// The body broke off; `why` makes a message of the place.
    fn broken_off(&mut self, arrival: ArrivalStamp, kind: FailureKind, why: impl FnOnce(&str) -> String)
    -> ExchangeEnd;

    /// No response came.
    fn failed(&mut self, at: Timestamp, failure: DiagnosedFailure);
}
