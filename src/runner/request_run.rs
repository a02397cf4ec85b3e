//! Follows one request from its dispatch to its end, over all of its attempts.

use std::pin::pin;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;

use super::deadlines::Deadlines;
use super::options::Timeouts;
use super::pacer::{DispatchedRequest, ring_at};
use super::progress::Progress;
use super::racers::{Racers, RunningAttempt, Which};
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, CapturedText, ChunkText, Engine, PreparedRequest};
use crate::generator::PlannedRequest;
use crate::record::{
    Attempt, AttemptEnd, AttemptKind, ChunkTrain, Failure, FailureKind, LostConnection, Outcome,
    RequestRecord, ShownText, TokenChunk, TokenSource,
};
use crate::workload::RetryPolicy;

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

/// What the requests of a run share.
pub(super) struct RequestContext<'a, E> {
    /// Where they go.
    pub(super) engine: &'a E,
    pub(super) clock: RunClock,
    /// Limits on each attempt.
    pub(super) timeouts: Timeouts,
    /// Whether a request is sent again; `None`: each is sent once.
    pub(super) retries: Option<&'a RetryPolicy>,
    pub(super) progress: &'a Progress,
    /// Censors them.
    pub(super) cancel: &'a CancellationToken,
}

/// One request under way.
pub(super) struct RequestRun {
    record: RequestRecord,
    reasoned: bool,
    chunks_counted: bool,
    /// Attempts that are over; `None` where requests are sent once.
    attempts: Option<Vec<Attempt>>,
}

/// How an attempt, with its hedge, ended.
struct AttemptOutcome {
    at: Timestamp,
    outcome: Outcome,
    captured: Option<CapturedText>,
    /// How long the server asks to wait.
    retry_after: Option<Duration>,
}

impl AttemptOutcome {
    fn new(at: Timestamp, outcome: Outcome) -> Self {
        Self { at, outcome, captured: None, retry_after: None }
    }

    /// When the request is sent again after it was sent so many times in vain; `None`: it is not.
    fn retry_at(&self, policy: &RetryPolicy, index: u64, failed: u32) -> Option<Timestamp> {
        let Outcome::Failed(failure) = &self.outcome else { return None };
        let wait = policy.retry_in(index, failed, failure.reason.retry_cause(), self.retry_after)?;
        Some(self.at.after(wait))
    }
}

impl RequestRun {
    /// Starts the record of a request that was just dispatched.
    pub(super) fn new(request: &PlannedRequest, dispatched: Timestamp) -> Self {
        let record = request.record(dispatched);
        Self { record, reasoned: false, chunks_counted: true, attempts: None }
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

    /// Executes the request: sends it, takes every event of its answer, enforces its limits. Where the run's clients
    /// retry, it is sent again after a failure and a wait, during which it stays in flight and keeps its slot under the
    /// concurrency cap. The run's end censors it, whether it is sent or waits.
    pub(super) async fn execute<E: Engine>(
        released: DispatchedRequest,
        admitted: Option<Timestamp>,
        context: RequestContext<'_, E>,
    ) -> FinishedRequest {
        let DispatchedRequest { ready, dispatched } = released;
        let mut run = Self::new(&ready.request, dispatched);
        run.record.admitted = admitted;
        run.attempts = context.retries.map(|_| Vec::new());
        let (mut prepared, mut begun, mut kind) =
            (ready.prepared, admitted.unwrap_or(dispatched), AttemptKind::First);
        let mut sent = 0;
        loop {
            // The body is shared, not copied; it is kept only where it may be sent again.
            let again = context.retries.map(|_| prepared.clone());
            let ended = run.attempt(prepared, begun, kind, &context).await;
            sent += 1;
            let due = context.retries.and_then(|policy| ended.retry_at(policy, run.record.index, sent));
            let (Some(due), Some(again)) = (due, again) else { return run.finish(ended, context.progress) };
            run.forget_answer();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => {
                    let censored = AttemptOutcome::new(context.clock.now(), Outcome::Censored);
                    return run.finish(censored, context.progress);
                }
                () = ring_at(context.clock, Some(due)) => {}
            }
            (prepared, begun, kind) = (again, context.clock.now(), AttemptKind::Retry);
        }
    }

    /// Sends the request once, and a second time beside it where its clients hedge.
    async fn attempt<E: Engine>(
        &mut self,
        prepared: PreparedRequest,
        begun: Timestamp,
        kind: AttemptKind,
        context: &RequestContext<'_, E>,
    ) -> AttemptOutcome {
        let RequestContext { engine, clock, timeouts, progress, cancel, .. } = *context;
        let mut limits = Deadlines { timeouts, begin: begun, last_token: None };
        let hedge_after = context.retries.and_then(RetryPolicy::hedge_after);
        let mut hedge = hedge_after.map(|after| (begun.after(after), prepared.clone()));
        let mut racers = Racers::new(engine.generate(prepared, clock), kind, begun);
        let mut cancelled = pin!(cancel.cancelled());
        let mut armed = limits.next_or(hedge.as_ref().map(|(at, _)| *at));
        let mut alarm = pin!(ring_at(clock, armed));
        loop {
            if limits.last_token.is_some() {
                hedge = None;
            }
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
                () = &mut cancelled => return self.cut_off(racers, clock.now(), Outcome::Censored),
                (which, event) = racers.next() => {
                    // Events of the same read have the same time and need no further poll.
                    let mut known = Some(event);
                    while let Some(event) = known {
                        if let Some(ended) = self.take(event, which, &mut racers, &mut limits, progress) {
                            self.conclude(racers, &ended);
                            return ended;
                        }
                        known = racers.next_known(which);
                    }
                    consume_budget().await;
                }
                () = alarm.as_mut() => {
                    let now = clock.now();
                    if let Some(failure) = limits.broken(now) {
                        return self.cut_off(racers, now, Outcome::Failed(failure.into()));
                    }
                    if let Some((_, again)) = hedge.take_if(|(at, _)| *at <= now) {
                        racers.hedge(engine.generate(again, clock), now);
                    }
                    armed = limits.next_or(hedge.as_ref().map(|(at, _)| *at));
                    alarm.set(ring_at(clock, armed));
                }
            }
        }
    }

    /// Takes an event of one of the attempts under way; the end of the attempt where it is that.
    fn take<A: Answer>(
        &mut self,
        event: AnswerEvent,
        which: Which,
        racers: &mut Racers<A>,
        limits: &mut Deadlines,
        progress: &Progress,
    ) -> Option<AttemptOutcome> {
        match event {
            AnswerEvent::Ended(end) => self.end(*end, which, racers, limits),
            event => {
                if let AnswerEvent::Chunk { at, .. } = event {
                    if let Some(failure) = limits.broken(at) {
                        return Some(AttemptOutcome::new(at, Outcome::Failed(failure.into())));
                    }
                    self.note_attempt(racers.won_by(which, at));
                }
                self.note(&event, &mut racers.of(which).attempt, limits, progress);
                None
            }
        }
    }

    fn note(
        &mut self,
        event: &AnswerEvent,
        attempt: &mut RunningAttempt,
        limits: &mut Deadlines,
        progress: &Progress,
    ) {
        let record = &mut self.record;
        match *event {
            AnswerEvent::Sent { at, opened_connection } => {
                // A request that is sent again was handed to a socket at the first time.
                record.sent.get_or_insert(at);
                attempt.sent.get_or_insert(at);
                if attempt.kind == AttemptKind::First {
                    record.opened_connection = opened_connection;
                }
            }
            AnswerEvent::Reconnects => record.lost_connection = Some(LostConnection::Idle),
            AnswerEvent::Resent => record.lost_connection = Some(LostConnection::AsSent),
            AnswerEvent::Headers { at } => attempt.headers = Some(at),
            AnswerEvent::Chunk { at, tokens, text, merged, choice } => {
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
                    None if self.attempts.is_some() => progress.attempt_began(at, tokens),
                    None => progress.first_tokens(at, tokens, record),
                    Some(last) => progress.more_tokens(at, tokens, last, record.phase),
                }
                record.chunks.push(TokenChunk { at, tokens, choice });
                record.merged_reads += u32::from(merged);
            }
            AnswerEvent::LateStamp { by } => {
                record.late_stamps.get_or_insert_default().add(record.chunks.len(), by);
            }
            AnswerEvent::Ended(_) => {}
        }
    }

    /// Takes the end of an answer. If that end came after a limit, it is a failure, however late this
    /// program saw it. Where one of two attempts fails, the other goes on.
    fn end<A: Answer>(
        &mut self,
        end: AnswerEnd,
        which: Which,
        racers: &mut Racers<A>,
        limits: &Deadlines,
    ) -> Option<AttemptOutcome> {
        if let Some(failure) = limits.broken(end.at) {
            return Some(AttemptOutcome::new(end.at, Outcome::Failed(failure.into())));
        }
        match &end.result {
            Ok(()) => self.note_attempt(racers.won_by(which, end.at)),
            Err(failure) => {
                let failed = racers.lost_by(which, end.at, failure.reason);
                if failed.is_some() {
                    self.note_attempt(failed);
                    return None;
                }
            }
        }
        Some(self.whole(end))
    }

    /// Keeps what the end of the answer says.
    fn whole(&mut self, end: AnswerEnd) -> AttemptOutcome {
        self.record.finish_reason = end.finish_reason;
        self.record.usage = end.usage;
        self.record.impossible_usage = end.impossible_usage.map(Box::new);
        self.record.hidden_tokens = u32::try_from(end.hidden_tokens).unwrap_or(u32::MAX);
        self.record.oddities = end.oddities.into_record();
        self.record.whole_answer = end.whole_answer;
        if end.last_repeats {
            self.record.drop_last_chunk();
        }
        let outcome =
            end.result.map_or_else(|failure| Outcome::Failed(failure.into()), |()| Outcome::Completed);
        AttemptOutcome { at: end.at, outcome, captured: end.captured, retry_after: end.retry_after }
    }

    /// Ends the attempts under way before an answer is over; all of its text may still have come.
    fn cut_off(&mut self, racers: Racers<impl Answer>, at: Timestamp, outcome: Outcome) -> AttemptOutcome {
        self.record.finish_reason = racers.first.answer.finish_reason();
        let ended = AttemptOutcome::new(at, outcome);
        self.conclude(racers, &ended);
        ended
    }

    /// Takes over what is known of the attempt that decided, and cancels the other where there are two.
    fn conclude(&mut self, mut racers: Racers<impl Answer>, ended: &AttemptOutcome) {
        self.note_attempt(racers.won_by(Which::First, ended.at));
        let attempt = racers.first.attempt;
        self.record.headers = attempt.headers;
        let end = match &ended.outcome {
            Outcome::Completed => AttemptEnd::Answered,
            Outcome::Failed(failure) => AttemptEnd::Failed(failure.reason),
            Outcome::Censored => AttemptEnd::Cancelled,
        };
        self.note_attempt(Some(attempt.ended(ended.at, end)));
    }

    fn note_attempt(&mut self, attempt: Option<Attempt>) {
        if let Some(attempts) = &mut self.attempts {
            attempts.extend(attempt);
        }
    }

    /// Forgets the answer of an attempt that failed, since the request is sent again.
    fn forget_answer(&mut self) {
        let record = &mut self.record;
        if let Some(failed) = self.attempts.as_mut().and_then(|attempts| attempts.last_mut()) {
            failed.discarded_tokens = u32::try_from(record.chunks.tokens()).unwrap_or(u32::MAX);
        }
        (self.reasoned, self.chunks_counted) = (false, true);
        *record = RequestRecord {
            headers: None,
            chunks: ChunkTrain::default(),
            first_answer: None,
            whole_answer: None,
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            oddities: None,
            merged_reads: 0,
            late_stamps: None,
            ..std::mem::take(record)
        };
    }

    /// Ends the request.
    fn finish(mut self, ended: AttemptOutcome, progress: &Progress) -> FinishedRequest {
        let AttemptOutcome { at, outcome, captured, .. } = ended;
        let mut record = self.close(at, outcome);
        if let Some(mut attempts) = self.attempts {
            progress.answer_kept(&record);
            attempts.sort_by_key(|attempt| attempt.begun);
            record.set_attempts(attempts);
        }
        FinishedRequest { record, captured }
    }

    fn close(&mut self, ended: Timestamp, outcome: Outcome) -> RequestRecord {
        let record = &mut self.record;
        record.ended = ended;
        record.chunks_counted = self.chunks_counted && counts_each(&record.chunks, record.merged_reads);
        if !record.chunks_counted && record.chunks.iter().any(|chunk| chunk.tokens != 1) {
            let chunks = record.chunks.iter().map(|chunk| TokenChunk { tokens: 1, ..chunk });
            record.chunks = chunks.collect();
        }
        record.outcome = outcome;
        record.chunks.shrink_to_fit();
        (record.output_tokens, record.output_tokens_source) =
            match record.usage.and_then(|usage| usage.completion()) {
                Some(tokens) => (tokens, TokenSource::Usage),
                None if record.chunks_counted => (record.chunks.tokens(), TokenSource::ChunkCounts),
                None => (record.chunks.len() as u64, TokenSource::Chunks),
            };
        record.clone()
    }
}

/// Whether the counts that came with chunks can be theirs: most have a token of their own, and all have no
/// fewer than reads.
fn counts_each(chunks: &ChunkTrain, merged_reads: u32) -> bool {
    let without = chunks.iter().filter(|chunk| chunk.tokens == 0).count();
    let shown =
        ShownText { chunks: chunks.len() as u64, merged: merged_reads.into(), ..ShownText::default() };
    !chunks.is_empty() && without * 2 <= chunks.len() && shown.is_counted_by(chunks.tokens())
}

#[cfg(test)]
mod tests;
