//! Follows one request from its release to its end.

use std::pin::pin;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::options::Timeouts;
use super::progress::Progress;
use super::release::Released;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, ChunkText, Engine, Kept};
use crate::generator::PlannedRequest;
use crate::record::{Failure, FailureKind, Outcome, RequestRecord, TokenChunk, TokenSource};

/// A request that has ended.
#[derive(Debug)]
pub struct Landed {
    /// What happened to it.
    pub record: RequestRecord,
    /// What the server said, where that was to be kept and came whole.
    pub kept: Option<Kept>,
}

impl From<RequestRecord> for Landed {
    /// Of one whose answer is not known.
    fn from(record: RequestRecord) -> Self {
        Self { record, kept: None }
    }
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Flight {
    record: RequestRecord,
    reasoned: bool,
    chunks_counted: bool,
}

impl Flight {
    /// The flight of a request that has just been let go.
    pub(super) fn new(request: &PlannedRequest, dispatched: Timestamp) -> Self {
        Self { record: request.record(dispatched), reasoned: false, chunks_counted: true }
    }

    /// The record of a request that was let go but never sent, because the run ended first.
    pub(super) fn never_sent(released: &Released, ended: Timestamp) -> RequestRecord {
        let mut flight = Self::new(&released.order.request, released.dispatched);
        flight.close(ended, Outcome::Censored)
    }

    /// The record of a request that was lost to a fault of this program.
    pub(super) fn lost(mut self, ended: Timestamp) -> RequestRecord {
        let failure = Failure::new(FailureKind::Internal, "skyline itself failed while it flew this request");
        self.close(ended, Outcome::Failed(failure))
    }

    /// Flies the request: sends it, takes every event of its answer, enforces its limits. `cancel` censors it.
    pub(super) async fn fly<E: Engine>(
        released: Released,
        admitted: Option<Timestamp>,
        engine: &E,
        clock: RunClock,
        timeouts: Timeouts,
        progress: &Progress,
        cancel: CancellationToken,
    ) -> Landed {
        let Released { order, dispatched } = released;
        let mut flight = Self::new(&order.request, dispatched);
        flight.record.admitted = admitted;
        let mut limits = Deadlines::new(timeouts, admitted.unwrap_or(dispatched));

        let mut answer = engine.generate(order.prepared, clock);
        let mut cancelled = pin!(cancel.cancelled());
        let mut armed = limits.next();
        let mut alarm = pin!(ring_at(clock, armed));
        loop {
            // Tokens push a deadline back, and the alarm is let ring once for nothing; only a deadline that came
            // nearer must be set at once.
            let next = limits.next();
            if next.is_some_and(|next| armed.is_none_or(|armed| next < armed)) {
                armed = next;
                alarm.set(ring_at(clock, armed));
            }
            tokio::select! {
                // The run's end first, so that a server which never pauses cannot put it off.
                biased;
                () = &mut cancelled => {
                    return flight.cut_off(&answer, clock.now(), Outcome::Censored).into();
                }
                event = answer.next() => {
                    // What came with it is no later, and needs no other round.
                    let mut known = Some(event);
                    while let Some(event) = known {
                        match event {
                            AnswerEvent::Ended(end) => return flight.end(*end, &limits),
                            AnswerEvent::Chunk { at, .. } if let Some(failure) = limits.broken(at) => {
                                return flight.close(at, Outcome::Failed(failure)).into();
                            }
                            event => flight.note(&event, &mut limits, progress),
                        }
                        known = answer.next_known();
                    }
                    // Nor may it keep the other flights waiting.
                    consume_budget().await;
                }
                () = alarm.as_mut() => {
                    let now = clock.now();
                    if let Some(failure) = limits.broken(now) {
                        return flight.cut_off(&answer, now, Outcome::Failed(failure)).into();
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
                record.sent = Some(at);
                record.opened_connection = opened_connection;
            }
            AnswerEvent::Headers { at } => record.headers = Some(at),
            AnswerEvent::Chunk { at, tokens, text, merged } => {
                match text {
                    ChunkText::Reasoning => self.reasoned = true,
                    ChunkText::Content | ChunkText::ToolCall
                        if self.reasoned && record.first_answer.is_none() =>
                    {
                        record.first_answer = Some(at);
                    }
                    ChunkText::Content | ChunkText::ToolCall => {}
                }
                self.chunks_counted &= tokens.is_some();
                let tokens = tokens.unwrap_or(1);
                match limits.last_token.replace(at) {
                    None => {
                        progress.first_tokens(at, tokens, record.scheduled, record.phase);
                    }
                    Some(last) => progress.more_tokens(at, tokens, last, record.phase),
                }
                record.chunks.push(TokenChunk { at, tokens });
                record.merged_reads += u32::from(merged);
            }
            AnswerEvent::Ended(_) => {}
        }
    }

    /// Takes the end of the answer, or the failure that it is when the end came after a limit, however late this
    /// program came to see it.
    fn end(&mut self, end: AnswerEnd, limits: &Deadlines) -> Landed {
        if let Some(failure) = limits.broken(end.at) {
            return self.close(end.at, Outcome::Failed(failure)).into();
        }
        self.record.finish_reason = end.finish_reason;
        self.record.usage = end.usage;
        self.record.whole_answer = end.whole_answer;
        let record = self.close(end.at, end.result.map_or_else(Outcome::Failed, |()| Outcome::Completed));
        Landed { record, kept: end.kept }
    }

    /// Ends the request before its answer is over. All of its text may have come all the same.
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
            // A server that sent text and counts none did not count.
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

/// The moments at which a request's limits are broken.
#[derive(Debug)]
struct Deadlines {
    timeouts: Timeouts,
    begin: Timestamp,
    last_token: Option<Timestamp>,
}

impl Deadlines {
    fn new(timeouts: Timeouts, begin: Timestamp) -> Self {
        Self { timeouts, begin, last_token: None }
    }

    /// The limits in force, each with its moment.
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

/// Rings at the given moment, or never.
async fn ring_at(clock: RunClock, moment: Option<Timestamp>) {
    match moment {
        Some(moment) => sleep_until(clock.instant(moment)).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Usage;

    /// A flight scheduled at 100 ns that got these chunks: moment, tokens, kind of text.
    fn flown(chunks: &[(u64, Option<u32>, ChunkText)], usage: Option<Usage>) -> RequestRecord {
        let request = PlannedRequest {
            index: 7,
            scheduled: Timestamp::from_nanos(100),
            input_tokens: 4,
            output_tokens: 4,
            ..PlannedRequest::default()
        };
        let mut flight = Flight::new(&request, Timestamp::from_nanos(101));
        let mut limits = Deadlines::new(Timeouts::default(), Timestamp::from_nanos(101));
        let progress = Progress::default();
        for (i, &(at, tokens, text)) in chunks.iter().enumerate() {
            let chunk =
                AnswerEvent::Chunk { at: Timestamp::from_nanos(at), tokens, text, merged: i % 2 == 1 };
            flight.note(&chunk, &mut limits, &progress);
        }
        let at = Timestamp::from_nanos(999);
        flight
            .end(
                AnswerEnd { at, result: Ok(()), whole_answer: None, finish_reason: None, usage, kept: None },
                &limits,
            )
            .record
    }

    #[test]
    fn the_first_answer_is_the_first_text_after_reasoning() {
        use ChunkText::{Content, Reasoning, ToolCall};
        let thinking = flown(&[(200, None, Reasoning), (210, None, Reasoning), (250, None, Content)], None);
        assert_eq!(thinking.first_answer, Some(Timestamp::from_nanos(250)));
        let calling = flown(&[(200, None, Reasoning), (230, None, ToolCall), (250, None, Content)], None);
        assert_eq!(calling.first_answer, Some(Timestamp::from_nanos(230)));
        assert_eq!(flown(&[(200, None, Content), (210, None, Reasoning)], None).first_answer, None);
        assert_eq!(calling.merged_reads, 1);
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
            // Text came, so a count of none is no count.
            (&uncounted[..], usage(0), 2, TokenSource::Chunks),
            (&counted[..], usage(0), 5, TokenSource::ChunkCounts),
            (&[], usage(0), 0, TokenSource::Usage),
        ] {
            let record = flown(chunks, usage);
            assert_eq!((record.output_tokens, record.output_tokens_source), (tokens, source));
        }
    }
}
