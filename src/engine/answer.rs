//! The interface of every engine, whatever server is behind it.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU16;
use std::time::Duration;

use bytes::Bytes;

use super::answer_limits::{AnswerBudget, HeldMemory};
use super::captured_text::{CaptureText, CapturedText};
use super::secrets::Secrets;
use super::stream::fast_chunk::ChunkText;
use crate::clock::{RunClock, Timestamp};
use crate::generator::RequestSpec;
use crate::record::{Failure, FinishReason, Oddities, Usage, WorkKind};

/// Answers requests with token streams.
pub trait Engine: Send + Sync + Sized + 'static {
    /// The answer to one request.
    type Answer: Answer;

    /// Builds all that can be built before the request is due.
    fn prepare(&self, request: &RequestSpec) -> PreparedRequest;

    /// Chooses the server of a request as it is sent. The server is given by its place in the header's list.
    fn route(&self, _request: &PreparedRequest) -> u16 {
        0
    }

    /// Returns the request with the server that is chosen for it.
    fn routed(&self, request: PreparedRequest) -> PreparedRequest {
        PreparedRequest { target: self.route(&request), ..request }
    }

    /// Begins an answer. Nothing is sent before the first [`Answer::next`]. Dropping the answer cancels the
    /// request and closes its connection.
    fn generate(&self, request: PreparedRequest, clock: RunClock) -> Self::Answer;

    /// Returns the engine with connections of its own, which live in the current runtime. It is `None` where an engine
    /// has none.
    fn with_own_connections(&self) -> Option<Self> {
        None
    }

    /// Opens connections for about `count` requests that will start soon.
    fn warm_up(&self, count: usize) -> impl Future<Output = ()> + Send;
}

/// A request ready to be written to a socket.
#[derive(Clone, PartialEq, Eq)]
pub struct PreparedRequest {
    /// Its index in the schedule.
    pub index: u64,
    /// The serialised body.
    pub body: Bytes,
    /// Whether the answer's text is captured.
    pub capture: CaptureText,
    /// Number of its session.
    pub session: u64,
    /// Tenant of the request, where that may decide which server it goes to.
    pub tenant: Option<u16>,
    /// How much of its answer is read.
    pub budget: AnswerBudget,
    /// Its server, once it is sent: the place in the header's list.
    pub target: u16,
    /// The kind of work that its answer counts as.
    pub work: WorkKind,
}

impl PreparedRequest {
    /// The request with this index, alone in its session, without capture.
    pub fn new(index: u64, body: Bytes) -> Self {
        let (capture, budget, work) = (CaptureText::No, AnswerBudget::default(), WorkKind::Tokens);
        Self { index, body, capture, session: index, tenant: None, budget, target: 0, work }
    }

    /// Returns the request with this budget for its answer.
    #[must_use]
    pub fn within(self, budget: AnswerBudget) -> Self {
        Self { budget, ..self }
    }

    /// Returns the request with this capture.
    #[must_use]
    pub fn capturing(self, capture: CaptureText) -> Self {
        Self { capture, ..self }
    }
}

impl fmt::Debug for PreparedRequest {
    /// Shows the length of the body, not the body: it may hold a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedRequest {{ index: {}, body_length: {} }}", self.index, self.body.len())
    }
}

/// One answer under way.
pub trait Answer: Send {
    /// Writes what it can of the request now, on the calling thread. Returns whether that is all of it.
    fn send_now(&mut self) -> bool {
        false
    }

    /// Waits for the next event. Must not be called again after [`AnswerEvent::Ended`].
    ///
    /// Cancel safe: dropping the call before it is ready loses nothing.
    fn next(&mut self) -> impl Future<Output = AnswerEvent> + Send;

    /// Waits for the end of the answer.
    fn until_end(&mut self) -> impl Future<Output = AnswerEnd> + Send {
        async {
            loop {
                if let AnswerEvent::Ended(end) = self.next().await {
                    return *end;
                }
            }
        }
    }

    /// Returns the next event of the last read, if there is one. It need not be awaited.
    fn next_known(&mut self) -> Option<AnswerEvent> {
        None
    }

    /// Returns why the model stopped, where the text is complete without the end. It is for answers that are cut off.
    fn finish_reason(&self) -> Option<FinishReason> {
        None
    }
}

/// Something that happened to a request, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerEvent {
    /// The request has a connection to one of several addresses, or a replica answered it.
    Connected {
        /// The place of the address or the replica among those that were met, from 1.
        address: NonZeroU16,
    },
    /// The request was written to a socket.
    Sent {
        /// Moment when the write of its last byte began.
        at: Timestamp,
        /// Whether a connection was opened for it.
        opened_connection: bool,
    },
    /// The request has to open a connection. The server closed one that it could have used.
    Reconnects,
    /// The request goes out again over a new connection. The server closed an idle one before any answer.
    Resent,
    /// The response's status and headers came.
    Headers {
        /// Moment when their last byte arrived.
        at: Timestamp,
    },
    /// A chunk with non-empty text came.
    Chunk {
        /// Arrival of the bytes that completed it. The kernel tells it, or else the read.
        at: Timestamp,
        /// Tokens it carries, where the server reports them; `None` counts as one.
        tokens: Option<u32>,
        /// The kind of the text.
        text: ChunkText,
        /// Whether it came in the same read as the previous chunk of its choice. It then shares that chunk's stamp.
        merged: bool,
        /// The choice whose text it is (`n`).
        choice: u8,
    },
    /// The last chunk and the next came in one read, and late. The last may have come well before its stamp.
    LateStamp {
        /// How long before, at most.
        by: Duration,
    },
    /// The end of the answer. Boxed, since it comes once and the other events many times.
    Ended(Box<AnswerEnd>),
}

/// Events of an answer in order, not returned yet.
pub(crate) type AnswerEvents = VecDeque<AnswerEvent>;

/// How an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerEnd {
    /// Moment when its last byte, or its failure, was seen.
    pub at: Timestamp,
    /// Whether it came whole.
    pub result: Result<(), Failure>,
    /// Arrival of the whole answer, where it was not streamed and came whole.
    pub whole_answer: Option<Timestamp>,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// The server's token counts.
    pub usage: Option<Usage>,
    /// Its counts, where they are impossible.
    pub impossible_usage: Option<Usage>,
    /// Answer tokens by `usage` whose text did not come.
    pub hidden_tokens: u64,
    /// Whether the last chunk said the whole answer once more.
    pub last_repeats: bool,
    /// Oddities of the answer.
    pub oddities: Oddities,
    /// Its text, where it was captured and came whole.
    pub captured: Option<CapturedText>,
    /// Time that the server asks to wait before the request is sent again. It comes with an answer that is an HTTP
    /// error.
    pub retry_after: Option<Duration>,
}

impl AnswerEnd {
    /// An end that is only a failure.
    pub fn failed(at: Timestamp, failure: Failure) -> Self {
        Self {
            at,
            result: Err(failure),
            whole_answer: None,
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            last_repeats: false,
            oddities: Oddities::default(),
            captured: None,
            retry_after: None,
        }
    }

    /// Returns the end, of which the text holds `memory` as long as it is there. It is a failure where that does not
    /// suffice.
    pub(crate) fn counted_in(mut self, memory: Option<HeldMemory>) -> Self {
        if let (Some(captured), Some(memory)) = (&mut self.captured, memory)
            && let Err(failure) = captured.count_in(memory)
        {
            return Self::failed(self.at, failure);
        }
        self
    }

    /// Returns the end with `secrets` hidden in what the server said.
    #[must_use]
    pub(crate) fn without(mut self, secrets: &Secrets) -> Self {
        if let Err(failure) = &mut self.result {
            failure.message = secrets.hide(std::mem::take(&mut failure.message));
        }
        self
    }
}

/// The cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing more than the failure's kind is known.
    #[default]
    Unknown,
    /// The host's name has no address.
    UnknownHost,
    /// Nothing listens at the port.
    Refused,
    /// Too many files are open in this process.
    OutOfFiles,
    /// No local port is left on this machine.
    OutOfPorts,
    /// Either side refused the TLS handshake.
    NoHandshake,
    /// Nobody who is trusted signed the server's certificate.
    Untrusted,
    /// The server's certificate is not valid now.
    OutOfDate,
    /// The server's certificate is for other hosts.
    OtherHost,
    /// The peer does not speak TLS.
    NotTls,
    /// The peer does not speak HTTP/2, and nothing else was allowed.
    NoHttp2,
    /// The proxy before the server is not there.
    Proxy,
    /// The proxy before the server refuses.
    ProxyRefuses,
    /// A whole answer came where a stream was requested.
    NotStreaming,
    /// The content type is that of no answer.
    ContentType,
    /// The body is compressed.
    Compressed,
    /// The server's error object names this field of the request.
    Field(String),
    /// The answer has no end.
    Endless,
    /// The server redirects to this address, without secrets.
    Redirects(String),
}

/// A failure and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiagnosedFailure {
    /// The failure for reports and counts.
    pub failure: Failure,
    /// Determines the hint.
    pub cause: Cause,
}
