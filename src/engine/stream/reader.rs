//! Reads one response of any kind into the events of an answer.

mod content;
mod explained;
mod limits;
mod stream;

use std::sync::Arc;

use bytes::BytesMut;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};

use content::{BodyContent, content};
use explained::Explained;
use limits::ReadingLimits;
use stream::StreamedAnswer;

use super::chunk::AnswerGrammar;
use super::fault::{grpc_failure, location};
use super::grammar::Grammar;
use super::habits::Habits;
use crate::engine::answer::{AnswerEnd, AnswerEvents, Cause};
use crate::engine::answer_limits::{AnswerBudget, HeldMemory};
use crate::engine::captured_text::{CaptureText, CapturedText};
use crate::engine::secrets::Secrets;
use crate::engine::target::AnswerForm;
use crate::engine::transport::{ArrivalStamp, BodyEnd};
use crate::record::{Failure, FailureKind, FinishReason};

/// Bytes read of a body that only explains a failure.
const EXPLANATION_LIMIT: usize = 16 << 10;

/// The reader of one response.
pub struct ResponseReader {
    body: Body,
    /// The grammar of the protocol's answers.
    answers: &'static AnswerGrammar,
    form: AnswerForm,
    /// The content type, without parameters.
    media: String,
    capture: CaptureText,
    /// Secrets that no message may repeat.
    secrets: Secrets,
    habits: Arc<Habits>,
    limits: ReadingLimits,
    /// Failure that the head or a trailer says, whatever the status.
    beside_body: Option<Failure>,
}

/// The kind of body, by the response's head and its own first bytes.
enum Body {
    /// The first bytes, whose kind is not known yet.
    Begun(BytesMut),
    /// An event stream.
    Stream(Box<StreamedAnswer>),
    /// JSON: a whole answer, or one where a stream was requested.
    Json(BytesMut),
    /// A failure with its message in the body.
    Explained { failure: Explained, bytes: BytesMut },
}

impl ResponseReader {
    /// Makes a reader for the response with this head to a request for `form`. Its messages hide `secrets`.
    pub fn new(status: StatusCode, headers: &HeaderMap, form: AnswerForm, secrets: Secrets) -> Self {
        let field = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let media = field(CONTENT_TYPE).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let encoding = field(CONTENT_ENCODING).filter(|name| !name.trim().eq_ignore_ascii_case("identity"));
        let explained = |failure| Body::Explained { failure, bytes: BytesMut::new() };
        let body = match encoding {
            Some(encoding) if status.is_success() => explained(Explained::Compressed(encoding)),
            _ if status.is_redirection() && headers.contains_key(LOCATION) => {
                explained(Explained::Redirect(status, location(headers, &secrets)))
            }
            _ if !status.is_success() || status == StatusCode::NO_CONTENT => explained(Explained::Status(status)),
            _ => Body::Begun(BytesMut::new()),
        };
        let (capture, limits) = (CaptureText::No, ReadingLimits::default());
        let named = |name: &str| Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned());
        let beside_body = grpc_failure(named, &secrets);
        let answers = <&AnswerGrammar>::default();
        Self { body, answers, form, media, capture, secrets, habits: Arc::default(), limits, beside_body }
    }

    /// Takes the lines behind the body.
    pub(crate) fn trailers(&mut self, lines: &[u8]) {
        let lines = String::from_utf8_lossy(lines);
        let named = |name: &str| {
            let mut fields = lines.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then(|| value.to_owned()))
        };
        self.beside_body = grpc_failure(named, &self.secrets).or(self.beside_body.take());
    }

    /// Returns the reader with these limits for an answer. Its request has a body of so many bytes.
    #[must_use]
    pub(crate) fn within(mut self, budget: AnswerBudget, body_bytes: usize, memory: HeldMemory) -> Self {
        let usage = budget.usage_bounds(body_bytes as u64);
        self.limits = ReadingLimits { budget, usage, memory: Some(memory), ..ReadingLimits::default() };
        self
    }

    /// Reader for a server with these habits, whose answers have this grammar.
    #[must_use]
    pub(crate) fn beside(self, habits: Arc<Habits>, answers: &'static AnswerGrammar) -> Self {
        Self { answers, habits, ..self }
    }

    /// Returns the reader with this capture. Must be called before the first piece of the body.
    #[must_use]
    pub fn capturing(self, capture: CaptureText) -> Self {
        Self { capture, ..self }
    }

    /// The reader of a stream, or of one document in its place.
    fn stream(&self) -> StreamedAnswer {
        let mut grammar = Grammar::new(self.answers, self.secrets.clone());
        grammar.usage_bounds = self.limits.usage;
        grammar.habits = Arc::clone(&self.habits);
        grammar.budget = self.limits.budget;
        let captured = (self.capture == CaptureText::Yes).then(|| CapturedText::new(self.answers));
        StreamedAnswer::new(grammar, captured)
    }

    /// Whether the whole answer has come, though not the whole body.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(&self.body, Body::Stream(stream) if stream.complete)
    }

    /// The cause of the failure, if the response is one.
    pub(crate) fn cause(&self) -> Cause {
        match &self.body {
            Body::Explained { failure, bytes } => failure.cause(bytes),
            Body::Json(_) if self.form == AnswerForm::Streamed => Cause::NotStreaming,
            _ if self.limits.endless => Cause::Endless,
            _ => Cause::Unknown,
        }
    }

    /// Why the model stopped, where all text of a stream has come.
    pub(crate) fn finish_reason(&self) -> Option<FinishReason> {
        match &self.body {
            Body::Stream(stream) => stream.grammar.finish_of_all(),
            _ => None,
        }
    }

    /// Takes a piece of the body; chunks with text go to `events`. Returns the end of the answer where it is over.
    pub fn bytes(&mut self, piece: &[u8], arrival: ArrivalStamp, events: &mut AnswerEvents) -> Option<AnswerEnd> {
        self.limits.size.bytes += piece.len() as u64;
        if let Body::Begun(begun) = &mut self.body {
            let mut all = std::mem::take(begun);
            if all.is_empty() {
                return self.begin(piece, false, arrival, events);
            }
            all.extend_from_slice(piece);
            return self.begin(&all, false, arrival, events);
        }
        self.more(piece, arrival, events)
    }

    /// Takes the first bytes, which say what the body is. They decide where its content type does not, at the latest at
    /// its end.
    fn begin(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<AnswerEnd> {
        let of_events = self.media == "text/event-stream";
        let explained = |failure| Body::Explained { failure, bytes: BytesMut::new() };
        self.body = match content(bytes, self.answers, self.form, at_end) {
            None => Body::Begun(BytesMut::new()),
            Some(BodyContent::Json) => Body::Json(BytesMut::new()),
            Some(BodyContent::Compressed) => explained(Explained::Compressed("gzip, which no header says".to_owned())),
            Some(BodyContent::Other) if of_events => Body::Stream(Box::new(self.stream())),
            Some(BodyContent::Other) if bytes.is_empty() => Body::Json(BytesMut::new()),
            Some(BodyContent::Page) if of_events => explained(Explained::ContentType("text/html".to_owned())),
            Some(BodyContent::Page | BodyContent::Other) => explained(Explained::ContentType(self.media.clone())),
            Some(BodyContent::Events) => {
                let mut stream = self.stream();
                if !of_events || self.form == AnswerForm::Whole {
                    stream.note_media(&self.media);
                }
                Body::Stream(Box::new(stream))
            }
        };
        self.more(bytes, arrival, events)
    }

    fn more(&mut self, piece: &[u8], arrival: ArrivalStamp, events: &mut AnswerEvents) -> Option<AnswerEnd> {
        match &mut self.body {
            Body::Stream(stream) => {
                let end = stream.piece(piece, self.form, arrival, events, &mut self.limits)?;
                Some(end.counted_in(self.limits.memory.take()))
            }
            Body::Begun(bytes) => {
                *bytes = piece.into();
                None
            }
            Body::Json(bytes) => {
                bytes.extend_from_slice(piece);
                let failure = self.limits.exceeded(bytes.len())?;
                Some(AnswerEnd::failed(arrival.at, failure))
            }
            Body::Explained { failure, bytes } => {
                bytes.extend_from_slice(piece);
                let enough = bytes.len() >= EXPLANATION_LIMIT || matches!(failure, Explained::Compressed(_));
                enough.then(|| failure.end(bytes, arrival.at, self.answers, &self.secrets))
            }
        }
    }

    /// Judges the answer at the end of the body. At a clean end an event without its empty line counts if it
    /// is complete: some servers and proxies leave out the last line end.
    pub fn end(&mut self, close: BodyEnd, arrival: ArrivalStamp, events: &mut AnswerEvents) -> AnswerEnd {
        if let Body::Begun(bytes) = &mut self.body {
            let bytes = std::mem::take(bytes);
            if let Some(end) = self.begin(&bytes, true, arrival, events) {
                return end;
            }
        }
        let end = match (&mut self.body, close) {
            (Body::Stream(stream), _) => stream.end(close, self.form, arrival, events, &mut self.limits, &self.secrets),
            (Body::Explained { failure, bytes }, _) => failure.end(bytes, arrival.at, self.answers, &self.secrets),
            (Body::Json(bytes), BodyEnd::Clean) => {
                let bytes = std::mem::take(bytes);
                // Texts with escapes are copied.
                match self.limits.exceeded(bytes.len() + bytes.len() / 4) {
                    Some(failure) => AnswerEnd::failed(arrival.at, failure),
                    None => self.whole(&bytes, arrival),
                }
            }
            (Body::Json(_) | Body::Begun(_), _) => {
                let failure = Failure::new(FailureKind::Reset, "the connection broke before the answer was whole");
                AnswerEnd::failed(arrival.at, failure)
            }
        };
        let end = end.counted_in(self.limits.memory.take());
        // The server's own words in the body, and an HTTP status, say more.
        let is_said = |failure: &Failure| {
            matches!(failure.reason, FailureKind::StreamError | FailureKind::Aborted | FailureKind::HttpStatus(_))
        };
        match self.beside_body.take() {
            Some(failure) if !end.result.as_ref().is_err_and(is_said) => {
                AnswerEnd { result: Err(failure), captured: None, whole_answer: None, ..end }
            }
            _ => end,
        }
    }

    /// Returns the end of an answer that is one document. The document may be in place of a stream.
    fn whole(&self, body: &[u8], arrival: ArrivalStamp) -> AnswerEnd {
        let mut stream = self.stream();
        let document = whole_document(body);
        let result = match self.form {
            AnswerForm::Streamed => Err(Explained::NotStreamed.failure(document, self.answers, &self.secrets)),
            AnswerForm::Whole => stream.grammar.whole(document),
        };
        if result.is_ok() && !matches!(self.media.rsplit(['/', '+']).next(), Some("json")) {
            stream.note_media(&self.media);
        }
        if let Some(captured) = &mut stream.captured {
            captured.push(document);
        }
        stream.over(arrival.at, self.form, result)
    }
}

/// The JSON document that a body begins with; `[DONE]` of an event stream may follow.
fn whole_document(body: &[u8]) -> &[u8] {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii();
    let body = body.strip_suffix(b"[DONE]").and_then(|body| body.trim_ascii().strip_suffix(b"data:")).unwrap_or(body);
    body.trim_ascii()
}

#[cfg(test)]
mod tests;
