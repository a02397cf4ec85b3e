//! Reads one response of any kind into the events of an answer.

use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};

use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents, Cause};
use crate::engine::answer_limits::{AnswerBudget, AnswerSize, HeldMemory};
use crate::engine::captured_text::{CaptureText, CapturedText};
use crate::engine::secrets::Secrets;
use crate::engine::stream::chunk::ChunkText;
use crate::engine::target::AnswerForm;
use crate::record::{Failure, FailureKind, FinishReason, Usage, UsageBounds};

use super::chunk::{Choice, ChunkJson, finish_reason};
use super::fault::{blames_model, excerpt, location, words_of};
use super::grammar::{BodyEnd, Grammar, Step, aborted, gives_up, no_text};
use super::sse::{SseEvent, SseFramer};

/// Bytes read of a body that only explains a failure.
const EXPLANATION_LIMIT: usize = 16 << 10;
/// Largest event of a stream.
const EVENT_LIMIT: usize = 16 << 20;

/// The stamp of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalStamp {
    /// When the bytes arrived: in the kernel where it reports that, else when the read returned.
    pub at: Timestamp,
    /// How much earlier the first of its bytes may have arrived, where the client read so late that it matters.
    pub late_by: Duration,
    /// Number of the read on this connection.
    pub read: u64,
}

/// The reader of one response.
pub struct ResponseReader {
    body: Body,
    capture: CaptureText,
    /// Secrets that no message may repeat.
    secrets: Secrets,
    limits: ReadingLimits,
}

/// How much is read, and what has come.
#[derive(Default)]
struct ReadingLimits {
    budget: AnswerBudget,
    size: AnswerSize,
    /// The memory that it holds, where that is limited.
    memory: Option<HeldMemory>,
    usage: UsageBounds,
    /// Whether the answer was given up because it does not end.
    endless: bool,
}

impl ReadingLimits {
    /// The failure of an answer that has become too large, with so many bytes held for it.
    fn exceeded(&mut self, held: usize) -> Option<Failure> {
        let failure = self.budget.exceeded(&self.size);
        self.endless |= failure.is_some();
        failure.or_else(|| self.memory.as_mut()?.hold(held).err())
    }
}

/// The kind of body by the response's head.
enum Body {
    /// An event stream.
    Stream(Box<Stream>),
    /// A whole answer.
    Whole(BytesMut),
    /// A failure with its message in the body.
    Explained { failure: Explained, bytes: BytesMut },
}

/// A streamed answer under way.
struct Stream {
    framer: SseFramer,
    grammar: Grammar,
    /// The read that brought the last chunk with text of each choice.
    last_text_reads: Vec<Option<u64>>,
    /// Its text so far, where it is captured.
    captured: Option<CapturedText>,
    /// Where the last chunk with text begins in it.
    last_text_at: usize,
}

#[derive(Clone, Debug)]
enum Explained {
    /// A status other than 2xx.
    Status(StatusCode),
    /// A redirect to this address, without secrets.
    Redirect(StatusCode, String),
    /// A whole JSON answer to a request for a stream.
    NotStreamed,
    /// A content type that no answer has.
    ContentType(String),
    /// A compressed body.
    Compressed(String),
}

impl ResponseReader {
    /// A reader for the response with this head to a request for `form`; its messages hide `secrets`.
    pub fn new(status: StatusCode, headers: &HeaderMap, form: AnswerForm, secrets: Secrets) -> Self {
        let field =
            |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let media = field(CONTENT_TYPE).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let encoding = field(CONTENT_ENCODING).filter(|name| !name.trim().eq_ignore_ascii_case("identity"));
        let explained = |failure| Body::Explained { failure, bytes: BytesMut::new() };
        let body = match (encoding, form, media.as_str()) {
            (Some(encoding), ..) if status.is_success() => explained(Explained::Compressed(encoding)),
            _ if status.is_redirection() && headers.contains_key(LOCATION) => {
                explained(Explained::Redirect(status, location(headers, &secrets)))
            }
            _ if !status.is_success() => explained(Explained::Status(status)),
            (_, AnswerForm::Streamed, "text/event-stream") => Body::Stream(Box::new(Stream {
                framer: SseFramer::default(),
                grammar: Grammar::new(secrets.clone()),
                last_text_reads: Vec::new(),
                captured: None,
                last_text_at: 0,
            })),
            (_, AnswerForm::Streamed, "application/json") => explained(Explained::NotStreamed),
            (_, AnswerForm::Whole, "application/json") => Body::Whole(BytesMut::new()),
            _ => explained(Explained::ContentType(media)),
        };
        Self { body, capture: CaptureText::No, secrets, limits: ReadingLimits::default() }
    }

    /// The same reader with these limits for an answer to a request of so many bytes.
    #[must_use]
    pub(crate) fn within(mut self, budget: AnswerBudget, body_bytes: usize, memory: HeldMemory) -> Self {
        let usage = budget.usage_bounds(body_bytes as u64);
        if let Body::Stream(stream) = &mut self.body {
            stream.grammar.usage_bounds = usage;
        }
        self.limits = ReadingLimits { budget, usage, memory: Some(memory), ..ReadingLimits::default() };
        self
    }

    /// The same reader with this capture. Must be called before the first piece of the body.
    #[must_use]
    pub fn capturing(mut self, capture: CaptureText) -> Self {
        if let Body::Stream(stream) = &mut self.body {
            stream.captured = (capture == CaptureText::Yes).then(CapturedText::default);
        }
        Self { capture, ..self }
    }

    /// The cause of the failure, if the response is one.
    pub(crate) fn cause(&self) -> Cause {
        let Body::Explained { failure, bytes } = &self.body else {
            return if self.limits.endless { Cause::Endless } else { Cause::Unknown };
        };
        match failure {
            Explained::Redirect(_, location) => Cause::Redirects(location.clone()),
            Explained::Status(_) if blames_model(bytes) => Cause::Model,
            Explained::Status(_) => Cause::Unknown,
            Explained::NotStreamed => Cause::NotStreaming,
            Explained::ContentType(_) => Cause::ContentType,
            Explained::Compressed(_) => Cause::Compressed,
        }
    }

    /// Why the model stopped, where all text of a stream has come.
    pub(crate) fn finish_reason(&self) -> Option<FinishReason> {
        match &self.body {
            Body::Stream(stream) => stream.grammar.finish_of_all(),
            Body::Whole(_) | Body::Explained { .. } => None,
        }
    }

    /// Takes a piece of the body; chunks with text go to `events`. Returns the end of the answer where it is over.
    pub fn bytes(
        &mut self,
        piece: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
    ) -> Option<AnswerEnd> {
        self.limits.size.bytes += piece.len() as u64;
        match &mut self.body {
            Body::Stream(stream) => {
                let end = stream.piece(piece, arrival, events, &mut self.limits)?;
                Some(end.counted_in(self.limits.memory.take()))
            }
            Body::Whole(bytes) => {
                bytes.extend_from_slice(piece);
                let failure = self.limits.exceeded(bytes.capacity())?;
                Some(AnswerEnd::failed(arrival.at, failure))
            }
            Body::Explained { failure, bytes } => {
                bytes.extend_from_slice(piece);
                let enough = bytes.len() >= EXPLANATION_LIMIT || matches!(failure, Explained::Compressed(_));
                enough.then(|| explain(failure, bytes, arrival.at, &self.secrets))
            }
        }
    }

    /// Judges the answer at the end of the body. At a clean end an event without its empty line counts if it
    /// is complete: some servers and proxies leave out the last line end.
    pub fn end(mut self, close: BodyEnd, arrival: ArrivalStamp, events: &mut AnswerEvents) -> AnswerEnd {
        if let (Body::Stream(stream), BodyEnd::Clean) = (&mut self.body, close)
            && let Some(last) = stream.framer.unterminated()
            && (&*last.data == b"[DONE]" || ChunkJson::parse(&last.data).is_ok())
            && let Some(end) = stream.event(&last, arrival, events, &mut self.limits)
        {
            return end.counted_in(self.limits.memory);
        }
        let end = match (self.body, close) {
            (Body::Stream(mut stream), _) => {
                let result = stream.grammar.close(close);
                stream.over(arrival.at, result)
            }
            (Body::Explained { failure, bytes }, _) => explain(&failure, &bytes, arrival.at, &self.secrets),
            (Body::Whole(bytes), BodyEnd::Clean) => {
                whole_end(&bytes, arrival.at, self.capture, &self.secrets, self.limits.usage)
            }
            (Body::Whole(_), BodyEnd::Broken) => {
                failed(arrival.at, FailureKind::Reset, "the connection broke before the answer was whole")
            }
        };
        end.counted_in(self.limits.memory)
    }
}

impl Stream {
    /// Reads all events that end in `piece`.
    fn piece(
        &mut self,
        mut piece: &[u8],
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        limits: &mut ReadingLimits,
    ) -> Option<AnswerEnd> {
        while let Some(event) = self.framer.next_event(&mut piece) {
            let over = self.event(&event, arrival, events, limits);
            if over.is_some() {
                return over;
            }
        }
        let held = self.framer.held();
        let too_long = || Failure::new(FailureKind::Malformed, "an event of more than 16 MiB");
        let captured = self.captured.as_ref().map_or(0, CapturedText::held);
        let failure = (held > EVENT_LIMIT).then(too_long).or_else(|| limits.exceeded(held + captured))?;
        Some(self.over(arrival.at, Err(failure)))
    }

    fn event(
        &mut self,
        event: &SseEvent<'_>,
        arrival: ArrivalStamp,
        events: &mut AnswerEvents,
        limits: &mut ReadingLimits,
    ) -> Option<AnswerEnd> {
        limits.size.events += 1;
        let captured_at = self.captured.as_ref().map_or(0, CapturedText::end);
        if let Some(captured) = &mut self.captured
            && *event.data != *b"[DONE]"
        {
            captured.push(&event.data);
        }
        let result = match self.grammar.event(event) {
            Ok(Step::Quiet) => limits.exceeded(0).map(Err)?,
            Ok(Step::Text { tokens, kind, mut choices }) => {
                self.last_text_at = captured_at;
                while choices != 0 {
                    let choice = choices.trailing_zeros() as u8;
                    choices &= choices - 1;
                    let merged = self.is_merged(choice, arrival.read);
                    if merged && !arrival.late_by.is_zero() {
                        events.push_back(AnswerEvent::LateStamp { by: arrival.late_by });
                    }
                    events.push_back(AnswerEvent::Chunk {
                        at: arrival.at,
                        tokens,
                        text: kind,
                        merged,
                        choice,
                    });
                    // A chunk without a whole token takes as much as one.
                    limits.size.tokens += u64::from(tokens.unwrap_or(1).max(1));
                }
                limits.exceeded(0).map(Err)?
            }
            Ok(Step::Complete) => self.grammar.close(BodyEnd::Clean),
            Err(failure) => Err(failure),
        };
        Some(self.over(arrival.at, result))
    }

    /// Whether text of this choice had come in the same read.
    fn is_merged(&mut self, choice: u8, read: u64) -> bool {
        let place = usize::from(choice);
        if self.last_text_reads.len() <= place {
            self.last_text_reads.resize(place + 1, None);
        }
        let merged = self.last_text_reads[place].replace(read) == Some(read);
        self.grammar.shown.merged += u64::from(merged);
        merged
    }

    fn over(&mut self, at: Timestamp, result: Result<(), Failure>) -> AnswerEnd {
        let last_repeats = self.grammar.last_repeats();
        let mut captured = self.captured.take().filter(|_| result.is_ok());
        if let Some(captured) = captured.as_mut().filter(|_| last_repeats) {
            captured.remove(self.last_text_at);
        }
        AnswerEnd {
            at,
            result,
            captured,
            retry_after: None,
            whole_answer: None,
            finish_reason: self.grammar.finish_reason.clone(),
            usage: self.grammar.usage(),
            impossible_usage: self.grammar.impossible_usage,
            hidden_tokens: self.grammar.hidden_tokens(),
            last_repeats,
        }
    }
}

fn whole_end(
    body: &[u8],
    at: Timestamp,
    capture: CaptureText,
    secrets: &Secrets,
    bounds: UsageBounds,
) -> AnswerEnd {
    if body.is_empty() {
        return failed(at, FailureKind::Empty, "the answer has no body");
    }
    let document = match ChunkJson::parse(body) {
        Ok(document) => document,
        Err(error) => {
            let said = excerpt(body, secrets);
            let message = secrets.hide(format!("the answer is not the JSON of one ({error}): {said}"));
            return failed(at, FailureKind::Malformed, message);
        }
    };
    if let Some(words) = document.error(secrets) {
        return failed(at, FailureKind::StreamError, words);
    }
    if document.choices().is_empty() {
        let message = format!("the answer has no choices: {}", excerpt(body, secrets));
        return failed(at, FailureKind::Malformed, message);
    }
    let choices = document.choices();
    let text_bytes = choices.iter().map(|choice| choice.text_bytes() as u64).sum();
    let possible = |usage: &Usage| bounds.allow(usage, text_bytes, choices.len() as u32);
    let usage = document.usage().filter(possible);
    let given_up = choices.iter().filter_map(Choice::finish).find_map(gives_up);
    let text = choices.iter().map(Choice::text_kind).fold(None, ChunkText::stronger);
    let result = match (given_up, text) {
        (Some(word), _) => Err(aborted(word)),
        (None, None) => Err(Failure::new(FailureKind::Empty, no_text(usage))),
        (None, Some(_)) => Ok(()),
    };
    let captured = (capture == CaptureText::Yes && result.is_ok()).then(|| {
        let mut captured = CapturedText::default();
        captured.push(body);
        captured
    });
    AnswerEnd {
        at,
        whole_answer: result.is_ok().then_some(at),
        result,
        captured,
        retry_after: None,
        finish_reason: choices.iter().find_map(Choice::finish).map(|word| finish_reason(word, secrets)),
        usage,
        impossible_usage: document.usage().filter(|usage| !possible(usage)),
        hidden_tokens: 0,
        last_repeats: false,
    }
}

fn explain(failure: &Explained, body: &[u8], at: Timestamp, secrets: &Secrets) -> AnswerEnd {
    let (kind, message) = match failure {
        Explained::Status(status) => {
            let said = words_of(body, secrets);
            let reason = status.canonical_reason().unwrap_or("no explanation");
            let message = if said.is_empty() { reason.to_owned() } else { said };
            (FailureKind::HttpStatus(status.as_u16()), message)
        }
        Explained::Redirect(status, location) => {
            (FailureKind::HttpStatus(status.as_u16()), format!("it redirects to {location}"))
        }
        Explained::NotStreamed => {
            let error = ChunkJson::parse(body).ok().and_then(|document| document.error(secrets));
            let message = || {
                let said = excerpt(body, secrets);
                format!("not streaming: a whole JSON body in place of the requested stream: {said}")
            };
            error.map_or_else(
                || (FailureKind::Malformed, message()),
                |words| (FailureKind::StreamError, words),
            )
        }
        Explained::ContentType(media) => {
            let media = match media.as_str() {
                "" => "no content type".to_owned(),
                media => format!("`{}`", excerpt(media.as_bytes(), secrets)),
            };
            let message = format!("wrong content type: {media}, with the body: {}", excerpt(body, secrets));
            (FailureKind::Malformed, message)
        }
        Explained::Compressed(encoding) => {
            let message = format!(
                "the body is compressed ({}) although `identity` was requested; timestamps through a compressor would be \
                 wrong",
                excerpt(encoding.as_bytes(), secrets)
            );
            (FailureKind::Malformed, message)
        }
    };
    failed(at, kind, message)
}

/// An end that is only a failure.
fn failed(at: Timestamp, kind: FailureKind, message: impl Into<String>) -> AnswerEnd {
    AnswerEnd::failed(at, Failure::new(kind, message))
}

#[cfg(test)]
mod tests;
