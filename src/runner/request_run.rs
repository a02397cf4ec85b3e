//! Follows one request from its dispatch to its end.

use std::pin::pin;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;

use super::options::Timeouts;
use super::pacer::{DispatchedRequest, ring_at};
use super::progress::Progress;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, CapturedText, ChunkText, Engine};
use crate::generator::PlannedRequest;
use crate::record::{Failure, FailureKind, LostConnection, Outcome, RequestRecord, TokenChunk, TokenSource};

/// A request that has ended.
#[derive(Debug)]
pub struct FinishedRequest {
    /// What happened to it.
    pub record: RequestRecord,
    /// The answer's text, where it was captured and came whole.
    pub captured: Option<CapturedText>,
}

impl From<RequestRecord> for FinishedRequest {
    /// A request whose answer's text is not known.
    fn from(record: RequestRecord) -> Self {
        Self { record, captured: None }
    }
}

/// One request under way.
pub(super) struct RequestRun {
    record: RequestRecord,
    reasoned: bool,
    chunks_counted: bool,
}

impl RequestRun {
    /// Starts the record of a request that was just dispatched.
    pub(super) fn new(request: &PlannedRequest, dispatched: Timestamp) -> Self {
        Self { record: request.record(dispatched), reasoned: false, chunks_counted: true }
    }

    /// The record of a request that was dispatched but not sent, because the run ended first.
    pub(super) fn never_sent(released: &DispatchedRequest, ended: Timestamp) -> RequestRecord {
        let mut run = Self::new(&released.ready.request, released.dispatched);
        run.close(ended, Outcome::Censored)
    }

    /// The record of a request that a fault of this program ended.
    pub(super) fn lost(mut self, ended: Timestamp) -> RequestRecord {
        let failure =
            Failure::new(FailureKind::Internal, "skyline itself failed while executing this request");
        self.close(ended, Outcome::Failed(failure.into()))
    }

    /// Executes the request: sends it, takes every event of its answer, enforces its limits. `cancel` censors
    /// it.
    pub(super) async fn execute<E: Engine>(
        released: DispatchedRequest,
        admitted: Option<Timestamp>,
        engine: &E,
        clock: RunClock,
        timeouts: Timeouts,
        progress: &Progress,
        cancel: CancellationToken,
    ) -> FinishedRequest {
        let DispatchedRequest { ready, dispatched } = released;
        let mut run = Self::new(&ready.request, dispatched);
        run.record.admitted = admitted;
        let mut limits = Deadlines { timeouts, begin: admitted.unwrap_or(dispatched), last_token: None };

        let mut answer = engine.generate(ready.prepared, clock);
        let mut cancelled = pin!(cancel.cancelled());
        let mut armed = limits.next();
        let mut alarm = pin!(ring_at(clock, armed));
        loop {
            // Tokens move a deadline back, and the alarm may then ring early for nothing. Only a deadline
            // that moved nearer must be set at once.
            let next = limits.next();
            if next.is_some_and(|next| armed.is_none_or(|armed| next < armed)) {
                armed = next;
                alarm.set(ring_at(clock, armed));
            }
            tokio::select! {
                // The run's end comes first, so that a server which never pauses cannot delay it.
                biased;
                () = &mut cancelled => {
                    return run.cut_off(&answer, clock.now(), Outcome::Censored).into();
                }
                event = answer.next() => {
                    // Events of the same read have the same time and need no further poll.
                    let mut known = Some(event);
                    while let Some(event) = known {
                        match event {
                            AnswerEvent::Ended(end) => return run.end(*end, &limits),
                            event => {
                                if let AnswerEvent::Chunk { at, .. } = event
                                    && let Some(failure) = limits.broken(at)
                                {
                                    return run.close(at, Outcome::Failed(failure.into())).into();
                                }
                                run.note(&event, &mut limits, progress);
                            }
                        }
                        known = answer.next_known();
                    }
                    // Let other requests run.
                    consume_budget().await;
                }
                () = alarm.as_mut() => {
                    let now = clock.now();
                    if let Some(failure) = limits.broken(now) {
                        return run.cut_off(&answer, now, Outcome::Failed(failure.into())).into();
                    }
                    armed = limits.next();
                    alarm.set(ring_at(clock, armed));
                }
            }
        }
    }

    fn note(&mut self, event: &AnswerEvent, limits: &mut Deadlines, progress: &Progress) {
        let record = &mut self.record;
        match *event {
            AnswerEvent::Sent { at, opened_connection } => {
                // A request that is sent again was handed to a socket at the first time.
                record.sent.get_or_insert(at);
                record.opened_connection = opened_connection;
            }
            AnswerEvent::Reconnects => record.lost_connection = Some(LostConnection::Idle),
            AnswerEvent::Resent => record.lost_connection = Some(LostConnection::AsSent),
            AnswerEvent::Headers { at } => record.headers = Some(at),
            AnswerEvent::Chunk { at, tokens, text, merged } => {
                match text {
                    ChunkText::Reasoning => self.reasoned = true,
                    ChunkText::Content | ChunkText::ToolCall if self.reasoned => {
                        record.first_answer.get_or_insert(at);
                    }
                    ChunkText::Content | ChunkText::ToolCall => {}
                }
                self.chunks_counted &= tokens.is_some();
                let tokens = tokens.unwrap_or(1);
                match limits.last_token.replace(at) {
                    None => progress.first_tokens(at, tokens, record),
                    Some(last) => progress.more_tokens(at, tokens, last, record.phase),
                }
                record.chunks.push(TokenChunk { at, tokens });
                record.merged_reads += u32::from(merged);
            }
            AnswerEvent::LateStamp { by } => {
                record.late_stamps.get_or_insert_default().add(record.chunks.len(), by);
            }
            AnswerEvent::Ended(_) => {}
        }
    }

    /// Takes the end of the answer. If that end came after a limit, it is a failure, however late this
    /// program saw it.
    fn end(&mut self, end: AnswerEnd, limits: &Deadlines) -> FinishedRequest {
        if let Some(failure) = limits.broken(end.at) {
            return self.close(end.at, Outcome::Failed(failure.into())).into();
        }
        self.record.finish_reason = end.finish_reason;
        self.record.usage = end.usage;
        self.record.impossible_usage = end.impossible_usage.map(Box::new);
        self.record.whole_answer = end.whole_answer;
        let record = self.close(
            end.at,
            end.result.map_or_else(|failure| Outcome::Failed(failure.into()), |()| Outcome::Completed),
        );
        FinishedRequest { record, captured: end.captured }
    }

    /// Ends the request before its answer is over; all of its text may still have come.
    fn cut_off(&mut self, answer: &impl Answer, ended: Timestamp, outcome: Outcome) -> RequestRecord {
        self.record.finish_reason = answer.finish_reason();
        self.close(ended, outcome)
    }

    fn close(&mut self, ended: Timestamp, outcome: Outcome) -> RequestRecord {
        let record = &mut self.record;
        record.ended = ended;
        record.chunks_counted = self.chunks_counted && !record.chunks.is_empty();
        record.outcome = outcome;
        record.chunks.shrink_to_fit();
        (record.output_tokens, record.output_tokens_source) = match &record.usage {
            // The server sent text and reported no tokens: it does not count them.
            Some(usage) if usage.completion_tokens > 0 || record.chunks.is_empty() => {
                (usage.completion_tokens, TokenSource::Usage)
            }
            _ if self.chunks_counted && !record.chunks.is_empty() => {
                (record.chunks.tokens(), TokenSource::ChunkCounts)
            }
            _ => (record.chunks.len() as u64, TokenSource::Chunks),
        };
        record.clone()
    }
}

/// The times at which the request breaks its limits.
struct Deadlines {
    timeouts: Timeouts,
    begin: Timestamp,
    last_token: Option<Timestamp>,
}

impl Deadlines {
    /// The limits in force, each with its time.
    fn in_force(&self) -> impl Iterator<Item = (Timestamp, FailureKind, Duration)> + use<> {
        let (since, silence, kind) = match self.last_token {
            None => (self.begin, self.timeouts.first_token, FailureKind::TimeoutFirstToken),
            Some(at) => (at, self.timeouts.between_tokens, FailureKind::TimeoutBetweenTokens),
        };
        let silence = silence.map(|limit| (since.after(limit), kind, limit));
        let begin = self.begin;
        let total = self.timeouts.total.map(|limit| (begin.after(limit), FailureKind::TimeoutTotal, limit));
        silence.into_iter().chain(total)
    }

    fn next(&self) -> Option<Timestamp> {
        self.in_force().map(|(at, ..)| at).min()
    }

    fn broken(&self, now: Timestamp) -> Option<Failure> {
        let (_, kind, limit) = self.in_force().filter(|(at, ..)| *at <= now).min_by_key(|(at, ..)| *at)?;
        Some(Failure::new(kind, format!("no more than {} allowed", crate::units::spoken(limit))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LateStamps, Usage};

    /// A request scheduled at 100 ns that got these chunks: time, tokens, kind of text.
    fn executed(chunks: &[(u64, Option<u32>, ChunkText)], usage: Option<Usage>) -> RequestRecord {
        let request = PlannedRequest {
            index: 7,
            scheduled: Timestamp::from_nanos(100),
            input_tokens: 4,
            output_tokens: 4,
            ..PlannedRequest::default()
        };
        let mut run = RequestRun::new(&request, Timestamp::from_nanos(101));
        let begin = Timestamp::from_nanos(101);
        let mut limits = Deadlines { timeouts: Timeouts::default(), begin, last_token: None };
        let progress = Progress::default();
        for (i, &(at, tokens, text)) in chunks.iter().enumerate() {
            if i % 2 == 1 {
                let late = AnswerEvent::LateStamp { by: Duration::from_nanos(7) };
                run.note(&late, &mut limits, &progress);
            }
            let chunk =
                AnswerEvent::Chunk { at: Timestamp::from_nanos(at), tokens, text, merged: i % 2 == 1 };
            run.note(&chunk, &mut limits, &progress);
        }
        let at = Timestamp::from_nanos(999);
        run.end(
            AnswerEnd {
                at,
                result: Ok(()),
                whole_answer: None,
                finish_reason: None,
                usage,
                impossible_usage: None,
                captured: None,
            },
            &limits,
        )
        .record
    }

    #[test]
    fn the_first_answer_is_the_first_text_after_reasoning() {
        use ChunkText::{Content, Reasoning, ToolCall};
        let thinking =
            executed(&[(200, None, Reasoning), (210, None, Reasoning), (250, None, Content)], None);
        assert_eq!(thinking.first_answer, Some(Timestamp::from_nanos(250)));
        let calling = executed(&[(200, None, Reasoning), (230, None, ToolCall), (250, None, Content)], None);
        assert_eq!(calling.first_answer, Some(Timestamp::from_nanos(230)));
        assert_eq!(executed(&[(200, None, Content), (210, None, Reasoning)], None).first_answer, None);
        assert_eq!(calling.merged_reads, 1);
        assert_eq!(calling.late_stamps(), LateStamps { count: 1, longest_ns: 7, first_ns: 7 });
    }

    #[test]
    fn tokens_are_counted_by_the_best_source_there_is() {
        use ChunkText::Content;
        let usage = |completion_tokens| {
            Some(Usage { prompt_tokens: 4, completion_tokens, cached_tokens: None, reasoning_tokens: None })
        };
        let counted = [(200, Some(2), Content), (210, Some(3), Content)];
        let uncounted = [(200, Some(2), Content), (210, None, Content)];
        for (chunks, usage, tokens, source) in [
            (&counted[..], usage(9), 9, TokenSource::Usage),
            (&counted[..], None, 5, TokenSource::ChunkCounts),
            (&uncounted[..], None, 2, TokenSource::Chunks),
            // Text came, so a count of zero is no count.
            (&uncounted[..], usage(0), 2, TokenSource::Chunks),
            (&counted[..], usage(0), 5, TokenSource::ChunkCounts),
            (&[], usage(0), 0, TokenSource::Usage),
        ] {
            let record = executed(chunks, usage);
            assert_eq!((record.output_tokens, record.output_tokens_source), (tokens, source));
        }
    }
}
