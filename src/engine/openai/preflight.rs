//! Checks before any load: one test request, each answer format, and whether the server is still the same.

mod diagnosis;
mod pointers;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::body::TEST_TOKENS;
use super::engine::OpenAiEngine;
use crate::clock::RunClock;
use crate::engine::answer::{Answer, AnswerEnd, AnswerEvent, Cause, DiagnosedFailure, PreparedRequest};
use crate::engine::answer_limits::AnswerBudget;
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::intake::listing;
use crate::engine::protocols::items::times_of_text;
use crate::record::{EngineKind, Failure, FailureKind, FinishReason, Oddity, TokenSource, Usage};
use crate::units::spoken;

use diagnosis::diagnose;
pub(super) use diagnosis::in_brackets;

/// Once text comes, the test request waits this part of its limit for the end.
const REST: u32 = 4;

/// Longest wait for which a server may ask that refuses the test request for now.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The wait where it asks for none.
const USUAL_WAIT: Duration = Duration::from_secs(1);

/// Findings of the test request.
#[derive(Clone, Debug, PartialEq)]
pub struct SmokeReport {
    /// Chunks with text.
    pub chunks: u64,
    /// The server's token counts.
    pub usage: Option<Usage>,
    /// Its counts, where they are impossible.
    pub impossible_usage: Option<Usage>,
    /// Moment at which its first chunk came; of several requests, that of the first.
    pub first_token: Option<std::time::Instant>,
    /// Oddities of its answer.
    pub oddities: Vec<Oddity>,
    /// The server's best count of an answer's tokens. One that was cut off could not count them: its texts count.
    pub token_source: TokenSource,
    /// The prompt, and how often its text stands in it. It is `None` where the extra body replaces it, and where a
    /// model may read it several times.
    pub prompt: Option<(&'static str, u64)>,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// Whether the answer has the requested length.
    pub length: LengthTest,
    /// Whether the answer went on for too long, and was not read on.
    pub cut_off: bool,
    /// How the server took the fields that force a length, if any were sent.
    pub forcing_tried: Option<String>,
    /// Whether both names of the limit were tried, and answered.
    pub both_tried: bool,
    /// How requests ask for it, where that is not with the dialect's own fields.
    pub changed: Option<String>,
}

/// An answer of more than so many times the requested tokens is not limited.
const TOO_LONG: u64 = 2;
/// An answer of more chunks than so many times the requested tokens is not limited. The server counts no tokens there:
/// chunks may be parts of one.
const TOO_MANY_CHUNKS: u64 = 4;

/// Whether the answer to the test request has the requested length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthTest {
    /// The answer has the length, or nothing shows that it has not.
    #[default]
    Kept,
    /// The answer is too long: the server ignores the limit.
    Ignored,
    /// The model ended it early.
    EndsEarly,
    /// The extra body sets it, or the answer ended by itself as requested.
    NotTested,
}

impl LengthTest {
    /// Judges an answer of so many tokens by the server's count, in so many chunks. Where it is `cut`, it was cut off
    /// here because it went on for too long.
    pub(super) fn new(tokens: Option<u64>, chunks: u64, cut: bool, finish: Option<&FinishReason>) -> Self {
        let asked = u64::from(TEST_TOKENS);
        match tokens {
            _ if cut => Self::Ignored,
            None if chunks > TOO_MANY_CHUNKS * asked => Self::Ignored,
            Some(tokens) if tokens > TOO_LONG * asked => Self::Ignored,
            Some(tokens) if tokens < asked && finish == Some(&FinishReason::Stop) => Self::EndsEarly,
            _ => Self::Kept,
        }
    }
}

/// Chunks of the answer after which it is not read on.
const MOST_CHUNKS: usize = 8 * TEST_TOKENS as usize;

/// Why the test request failed, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one test request to {address} failed: {failure}\nhint: {hint}")]
pub struct SmokeError {
    /// The URL.
    pub address: String,
    /// The failure.
    pub failure: Failure,
    /// The remedy.
    pub hint: String,
    /// Wait for which the server asks.
    pub(super) retry_after: Option<Duration>,
}

impl SmokeError {
    /// Returns how long to wait before the test request is sent once more. The server refused it for now (429) and says
    /// how long; `None` where that is too long.
    pub(super) fn wait(&self) -> Option<Duration> {
        let refused = self.failure.reason == FailureKind::HttpStatus(429);
        Some(self.retry_after.unwrap_or(USUAL_WAIT)).filter(|wait| refused && *wait <= LONGEST_WAIT)
    }
}

impl OpenAiEngine {
    /// Sends one short request of this prompt on the measured path, before any load.
    ///
    /// # Errors
    ///
    /// What went wrong, with a hint.
    pub async fn smoke_test(&self, prompt: &'static str, limit: Duration) -> Result<SmokeReport, SmokeError> {
        let asked = self.target.test_prompt(prompt);
        let body = self.templates.test_request(&asked);
        let forces = self.target.length_fields().forcing != LengthForcing::None && !self.sets_length();
        let budget = AnswerBudget::of_test()
            .forcing(forces.then_some(TEST_TOKENS.into()))
            .expecting(self.target.expected_items(&asked));
        let request = PreparedRequest::new(0, body).within(budget).capturing(self.test_capture());
        let delays = Arc::default();
        let mut answer = self.exchange(request, RunClock::starting_in(Duration::ZERO), &delays);
        let mut events = Vec::new();
        let (mut until, mut begun, mut first_token) = (Instant::now() + limit, false, None);
        let outcome = loop {
            match timeout_at(until, answer.next()).await {
                Err(late) => break Err(late),
                Ok(AnswerEvent::Ended(end)) => break Ok(Some(*end)),
                Ok(event) => {
                    // A cold server begins late, but then so few tokens are soon there.
                    if matches!(event, AnswerEvent::Chunk { .. }) && !begun {
                        (until, begun) = (Instant::now() + limit / REST, true);
                        first_token = Some(std::time::Instant::now());
                    }
                    events.push(event);
                }
            }
            if chunks(&events).count() > MOST_CHUNKS {
                break Ok(None);
            }
        };
        self.kernel_stamps.store(delays.so_far().is_some(), Relaxed);
        let cause = if begun && outcome.is_err() { Cause::Endless } else { answer.cause() };
        let (failure, retry_after) = match outcome {
            Ok(Some(AnswerEnd { result: Err(failure), retry_after, .. })) => (failure, retry_after),
            Ok(end) => {
                if let Some(refused) = self.misses(end.as_ref()) {
                    return Err(refused);
                }
                let takes_prompts = self.templates.takes_prompts();
                let prompt = times_of_text(&asked).filter(|_| takes_prompts).map(|times| (prompt, times));
                let report = SmokeReport { first_token, ..SmokeReport::new(prompt, &events, end.as_ref()) };
                if self.target.endpoint.inputs.is_some() {
                    // No length is tested, and nothing is to be counted.
                    let (length, token_source) = (LengthTest::NotTested, TokenSource::Usage);
                    return Ok(SmokeReport { token_source, length, ..report });
                }
                let length = if self.sets_length() { LengthTest::NotTested } else { report.length };
                return Ok(SmokeReport { length, ..report });
            }
            Err(_) => (smoke_timeout(limit, &events), None),
        };
        let fault = DiagnosedFailure { failure, cause };
        let hint = match retry_after.filter(|wait| *wait > LONGEST_WAIT) {
            Some(wait) => format!(
                "the server asks to wait {}; start again then, or raise the server's own limit on requests",
                spoken(wait)
            ),
            None => diagnose(&self.target, &self.facts.model, &self.listed, &fault),
        };
        let url = &self.target.url;
        let address = url.shown(&url.endpoint_path(self.target.endpoint));
        Err(SmokeError { address, failure: fault.failure, hint, retry_after })
    }

    /// Requests one token in each answer format of the run.
    ///
    /// # Errors
    ///
    /// The first format that the server refuses, and why. Slow or broken answers are no refusal; the run will
    /// show them.
    pub async fn probe_forms(&self, limit: Duration) -> Result<(), AnswerFormRefused> {
        let shapes = self.target.answers.iter().flatten();
        for (index, (body, shape)) in (0..).zip(self.templates.probes().zip(shapes)) {
            let mut answer = self.unmeasured(PreparedRequest::new(index, body).within(AnswerBudget::of_test()));
            // An incomplete answer is expected.
            if let Ok(AnswerEnd { result: Err(failure), .. }) = tokio::time::timeout(limit, answer.until_end()).await
                && matches!(failure.reason, FailureKind::HttpStatus(_) | FailureKind::StreamError)
            {
                return Err(AnswerFormRefused { dialect: self.target.dialect, kind: shape.kind(), failure });
            }
        }
        Ok(())
    }

    /// Checks that the server is still the one that was connected to. It compares its version and models.
    ///
    /// # Errors
    ///
    /// What differs. What the server reports only once of the two times proves nothing.
    pub async fn verify_identity(&self) -> Result<(), ServerChanged> {
        let Self { facts, listed, control, model: requested, .. } = self;
        if let (Some(before), Some(now)) = (&facts.server_version, control.version().await)
            && *before != now
        {
            return Err(ServerChanged { what: "server version", before: before.clone(), now });
        }
        // A missing list proves nothing: the run will show what is wrong with the server.
        let models = control.models().await.unwrap_or_default();
        let Some(model) = models.iter().find(|model| model.id == *requested) else {
            if models.is_empty() || !listed.contains(&facts.model) {
                return Ok(());
            }
            let now: Vec<_> = models.into_iter().map(|model| model.shown).collect();
            return Err(ServerChanged { what: "list of models", before: listing(listed), now: listing(&now) });
        };
        match (facts.max_model_len, model.max_len) {
            (Some(before), Some(now)) if before != now => {
                Err(ServerChanged { what: "longest context", before: before.to_string(), now: now.to_string() })
            }
            _ => Ok(()),
        }
    }
}

impl SmokeReport {
    /// Returns the findings of an answer with this end. Without one it went on for too long.
    fn new(prompt: Option<(&'static str, u64)>, events: &[AnswerEvent], end: Option<&AnswerEnd>) -> Self {
        let mut counts = chunks(events);
        let chunks = counts.clone().count() as u64;
        let usage = end.and_then(|end| end.usage);
        let finish_reason = end.and_then(|end| end.finish_reason.clone());
        let tokens = usage.and_then(|usage| usage.completion());
        let length = LengthTest::new(tokens, chunks, end.is_none(), finish_reason.as_ref());
        let token_source = match tokens {
            Some(_) => TokenSource::Usage,
            None if chunks > 0 && counts.all(Option::is_some) => TokenSource::ChunkCounts,
            None => TokenSource::Chunks,
        };
        Self {
            chunks,
            usage,
            first_token: None,
            impossible_usage: end.and_then(|end| end.impossible_usage),
            oddities: end.map_or_else(Vec::new, |end| end.oddities.0.clone()),
            token_source,
            prompt,
            finish_reason,
            length,
            cut_off: end.is_none(),
            forcing_tried: None,
            both_tried: false,
            changed: None,
        }
    }
}

/// The tokens of each chunk, where the server counts them.
fn chunks(events: &[AnswerEvent]) -> impl Iterator<Item = &Option<u32>> + Clone {
    events.iter().filter_map(|event| match event {
        AnswerEvent::Chunk { tokens, .. } => Some(tokens),
        _ => None,
    })
}

/// The failure when `limit` passed without an answer.
fn smoke_timeout(limit: Duration, events: &[AnswerEvent]) -> Failure {
    let came = match events.last() {
        None | Some(AnswerEvent::Reconnects | AnswerEvent::Connected { .. }) => "the request could not be sent",
        Some(AnswerEvent::Sent { .. } | AnswerEvent::Resent) => "no headers arrived",
        Some(AnswerEvent::Headers { .. }) => "headers arrived, but no token",
        Some(AnswerEvent::Chunk { .. } | AnswerEvent::LateStamp { .. } | AnswerEvent::Ended(_)) => {
            let message = format!("no end of the answer within {} of its first token", spoken(limit / REST));
            return Failure::new(FailureKind::TimeoutTotal, message);
        }
    };
    Failure::new(FailureKind::TimeoutTotal, format!("no complete answer within {}: {came}", spoken(limit)))
}

/// An answer format that the server refuses. Its message has a `hint:` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server refuses answers of the form `{kind}`: {failure}\n\
     hint: tools need a parser{}, JSON a backend for guided decoding{}; or take `answer` out of the class",
    in_brackets(.dialect.start_options().tools),
    in_brackets(.dialect.start_options().guided)
)]
pub struct AnswerFormRefused {
    /// The server's dialect.
    pub dialect: EngineKind,
    /// The format's name in a workload.
    pub kind: &'static str,
    /// The server's error.
    pub failure: Failure,
}

/// The server is not the one that was connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its {what} changed from {before} to {now}")]
pub struct ServerChanged {
    /// The name of what changed.
    pub what: &'static str,
    /// Its value before.
    pub before: String,
    /// Its value now.
    pub now: String,
}

#[cfg(test)]
mod tests;
