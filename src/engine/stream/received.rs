//! Reads what a transport brings of one answer into its events.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::habits::Habits;
use super::reader::ResponseReader;
use crate::clock::Timestamp;
use crate::engine::answer::{AnswerEnd, AnswerEvent, AnswerEvents, Cause, DiagnosedFailure, PreparedRequest};
use crate::engine::answer_limits::{AnswerBudget, AnswerLimits, AnswerMemory, HeldMemory};
use crate::engine::captured_text::CaptureText;
use crate::engine::secrets::Secrets;
use crate::engine::target::AnswerForm;
use crate::engine::transport::{ArrivalStamp, BodyEnd, ExchangeEnd, Origin, Receiver, retry_after};
use crate::record::{Failure, FailureKind, FinishReason, LostConnection};

/// Settings that all answers of a run share.
#[derive(Clone)]
pub(crate) struct AnswerContext {
    /// Whether they are streamed.
    form: AnswerForm,
    /// Secrets that no message may repeat.
    secrets: Secrets,
    /// The memory that all answers in flight may hold together.
    memory: Arc<AnswerMemory>,
    /// Habits that the server's answers have shown.
    habits: Arc<Habits>,
}

impl AnswerContext {
    /// Answers of this form.
    pub(crate) fn new(form: AnswerForm, secrets: Secrets) -> Self {
        let memory = Arc::new(AnswerMemory::new(AnswerLimits::default().memory));
        Self { form, secrets, memory, habits: Arc::default() }
    }

    /// The context with so much memory.
    pub(crate) fn with_memory(&self, limit: u64) -> Self {
        Self { memory: Arc::new(AnswerMemory::new(limit)), ..self.clone() }
    }
}

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

    /// Why the model stopped, where all of the text has come and the answer is not over.
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

    fn sent(&mut self, at: Timestamp, origin: Origin) {
        self.events.push_back(AnswerEvent::Sent { at, opened_connection: origin == Origin::Opened });
    }

    fn head(&mut self, status: StatusCode, headers: &HeaderMap, at: Timestamp) {
        self.events.push_back(AnswerEvent::Headers { at });
        let AnswerContext { form, secrets, memory, habits } = &*self.context;
        let reader = ResponseReader::new(status, headers, *form, secrets.clone())
            .within(self.budget, self.body_bytes, HeldMemory::none(Arc::clone(memory)))
            .beside(Arc::clone(habits))
            .capturing(self.capture);
        self.reader = Some(Box::new(reader));
        self.retry_after =
            if status.is_success() { None } else { retry_after(headers, jiff::Timestamp::now()) };
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
mod tests;
