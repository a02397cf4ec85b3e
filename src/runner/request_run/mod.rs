//! Follows one request from its dispatch to its end, over all of its attempts.

mod answer_end;
mod attempt_outcome;

use std::pin::pin;

use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;

use self::attempt_outcome::AttemptOutcome;
use super::feed::ReadyRequest;
use super::life::{ClientRules, RequestLife, Which};
use super::live_answer::{LiveAnswer, next_event};
use super::pacer::{DispatchedRequest, ring_at};
use super::progress::Progress;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, CapturedText, ChunkText, Engine, PreparedRequest, ReaderRest};
use crate::generator::PlannedRequest;
use crate::record::{
    AttemptEnd, AttemptKind, Failure, FailureKind, LostConnection, Outcome, RequestRecord, TokenChunk, WorkKind,
};
use crate::workload::RetryPolicy;

/// A request that has ended.
#[derive(Debug)]
pub struct FinishedRequest {
    /// The record of what happened to it.
    pub record: RequestRecord,
    /// The answer's text, where it was captured and came whole.
    pub captured: Option<CapturedText>,
    /// The row of its dataset; absent without one.
    pub row: Option<u64>,
}

impl From<RequestRecord> for FinishedRequest {
    /// A request whose answer's text is not known.
    fn from(record: RequestRecord) -> Self {
        Self { record, captured: None, row: None }
    }
}

/// Context that the requests of a run share.
pub(super) struct RequestContext<'a, E> {
    /// The engine that they go to.
    pub(super) engine: &'a E,
    pub(super) clock: RunClock,
    /// The rules by which its clients give up, send it again and hedge.
    pub(super) rules: ClientRules<'a>,
    pub(super) progress: &'a Progress,
    /// Censors them.
    pub(super) cancel: &'a CancellationToken,
}

/// One request under way.
pub(super) struct RequestRun {
    record: RequestRecord,
    row: Option<u64>,
    reasoned: bool,
    chunks_counted: bool,
}

impl RequestRun {
    /// Starts the record of a request that was just dispatched.
    pub(super) fn new(request: &PlannedRequest, work: WorkKind, dispatched: Timestamp) -> Self {
        let record = RequestRecord { work, ..request.record(dispatched) };
        Self { record, row: request.row, reasoned: false, chunks_counted: true }
    }

    /// Returns the run of a request that got a slot when it was `admitted`.
    pub(super) fn admitted(mut self, admitted: Option<Timestamp>) -> Self {
        self.record.admitted = admitted;
        self
    }

    /// Returns the record of a request that was dispatched but not sent. The run ended first.
    pub(super) fn never_sent(released: &DispatchedRequest, ended: Timestamp) -> RequestRecord {
        let ReadyRequest { request, prepared, .. } = &released.ready;
        Self::new(request, prepared.work, released.dispatched).close(ended, Outcome::Censored)
    }

    /// The record of a request that a fault of this program ended.
    pub(super) fn lost(mut self, ended: Timestamp) -> RequestRecord {
        let failure = Failure::new(FailureKind::Internal, "skyline itself failed while executing this request");
        self.close(ended, Outcome::Failed(failure.into()))
    }

    /// Executes the request. It sends it unless its `answer` has begun, takes every event of that, enforces limits.
    /// Where the run's clients retry, it is sent again after a failure and a wait, during which it stays in flight and
    /// keeps its slot under the concurrency cap. The run's end censors it, whether it is sent or waits.
    pub(super) async fn execute<E: Engine>(
        mut self,
        mut prepared: PreparedRequest,
        mut answer: Option<LiveAnswer<E::Answer>>,
        context: RequestContext<'_, E>,
    ) -> FinishedRequest {
        let (rules, progress) = (context.rules, context.progress);
        let RequestRecord { index, class, output_tokens_asked, .. } = self.record;
        let mut life = RequestLife::new(index, class, output_tokens_asked, rules);
        self.record.leaves = life.leaves();
        let (mut begun, mut kind) = (self.record.admitted.unwrap_or(self.record.dispatched), AttemptKind::First);
        loop {
            // The body is shared, not copied; it is kept only where it may be sent again.
            let again = rules.retries.map(|_| prepared.clone());
            let hedge = rules.retries.and_then(RetryPolicy::hedge_after).map(|_| prepared.clone());
            let sent = answer.take();
            let sent = sent.unwrap_or_else(|| LiveAnswer::begin(context.engine, prepared, context.clock));
            life.begin(sent, kind, begun);
            let ended = self.attempt(&mut life, hedge, &context).await;
            let (Some(due), Some(again)) = (ended.again, again) else {
                return self.finish(ended, life, progress);
            };
            self.forget_answer();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => {
                    let censored = AttemptOutcome::new(context.clock.now(), Outcome::Censored);
                    return self.finish(censored, life, progress);
                }
                () = ring_at(context.clock, life.leaves_at()) => {
                    let left = AttemptOutcome::new(context.clock.now(), Outcome::Cancelled);
                    return self.finish(left, life, progress);
                }
                () = ring_at(context.clock, Some(due)) => {}
            }
            (prepared, begun, kind) = (again, context.clock.now(), AttemptKind::Retry);
        }
    }

    /// Follows the request as it is sent once. The `spare` is sent beside it where its clients hedge.
    async fn attempt<E: Engine>(
        &mut self,
        life: &mut RequestLife<'_, LiveAnswer<E::Answer>>,
        mut spare: Option<PreparedRequest>,
        context: &RequestContext<'_, E>,
    ) -> AttemptOutcome {
        let RequestContext { engine, clock, cancel, .. } = *context;
        let mut cancelled = pin!(cancel.cancelled());
        let mut armed = life.alarm();
        let mut alarm = pin!(ring_at(clock, armed));
        loop {
            if life.last_token().is_some() {
                spare = None;
            }
            // Tokens move a deadline back, and the alarm may then ring early for nothing. Only a deadline
            // that moved nearer must be set at once.
            let next = life.alarm();
            if next.is_some_and(|next| armed.is_none_or(|armed| next < armed)) {
                armed = next;
                alarm.set(ring_at(clock, armed));
            }
            tokio::select! {
                // A server that never pauses cannot delay the run's end.
                biased;
                (which, event) = next_event(life), if !cancel.is_cancelled() => {
                    // Events of the same read have the same time and need no further poll.
                    let mut known = Some(event);
                    while let Some(event) = known {
                        if let Some(ended) = self.take(event, which, life, context) {
                            return self.conclude(life, ended);
                        }
                        known = life.handle(which).and_then(|live| live.answer.next_known());
                    }
                    consume_budget().await;
                }
                () = &mut cancelled => return self.cut_off(life, clock.now(), Outcome::Censored),
                () = alarm.as_mut() => {
                    let now = clock.now();
                    if let Some(outcome) = life.given_up(now) {
                        return self.cut_off(life, now, outcome);
                    }
                    if let Some(again) = spare.take_if(|_| life.hedge_is_due(now)) {
                        let hedge = LiveAnswer::begin(engine, again, clock);
                        life.begin(hedge, AttemptKind::Hedge, now);
                    }
                    armed = life.alarm();
                    alarm.set(ring_at(clock, armed));
                }
            }
        }
    }

    /// Takes an event of one of the attempts under way. Returns the end of the attempt where it is that.
    fn take<A: Answer, E>(
        &mut self,
        event: AnswerEvent,
        which: Which,
        life: &mut RequestLife<'_, LiveAnswer<A>>,
        context: &RequestContext<'_, E>,
    ) -> Option<AttemptOutcome> {
        let record = &mut self.record;
        match event {
            AnswerEvent::Ended(end) => return self.end(*end, which, life),
            AnswerEvent::Sent { at, opened_connection } => {
                // A request that is sent again was handed to a socket at the first time.
                record.sent.get_or_insert(at);
                if life.sent(which, at) == Some(AttemptKind::First) {
                    record.opened_connection = opened_connection;
                }
            }
            AnswerEvent::Reconnects => record.lost_connection = Some(LostConnection::Idle),
            AnswerEvent::Resent => record.lost_connection = Some(LostConnection::AsSent),
            AnswerEvent::Connected { address } => life.handle(which)?.address = Some(address),
            AnswerEvent::Headers { at } => life.handle(which)?.headers = Some(at),
            AnswerEvent::LateStamp { by } => {
                record.late_stamps.get_or_insert_default().add(record.chunks.len(), by);
            }
            AnswerEvent::Chunk { at, tokens, text, merged, choice } => {
                if let Some(outcome) = life.given_up(at) {
                    return Some(AttemptOutcome::new(at, outcome));
                }
                if text == ChunkText::Reasoning {
                    self.reasoned = true;
                } else if self.reasoned {
                    record.first_answer.get_or_insert(at);
                }
                self.chunks_counted &= tokens.is_some();
                let (tokens, progress) = (tokens.unwrap_or(1), context.progress);
                match life.last_token() {
                    None if context.rules.retries.is_some() => progress.attempt_began(at, tokens),
                    None => progress.first_tokens(at, tokens, record),
                    Some(last) => {
                        ReaderRest::gap(at.since(last));
                        progress.more_tokens(at, tokens, last, record.phase);
                    }
                }
                life.token(which, at, tokens);
                record.chunks.push(TokenChunk { at, tokens, choice });
                record.merged_reads += u32::from(merged);
                if life.has_left(at) {
                    return Some(AttemptOutcome::new(at, Outcome::Cancelled));
                }
            }
        }
        None
    }

    /// Takes the end of an answer. After a limit it is a failure. Where one of two attempts fails, the other goes on.
    fn end<A: Answer>(
        &mut self,
        end: AnswerEnd,
        which: Which,
        life: &mut RequestLife<'_, LiveAnswer<A>>,
    ) -> Option<AttemptOutcome> {
        ReaderRest::ended(&self.record.chunks, end.at);
        if let Some(outcome) = life.given_up(end.at) {
            return Some(AttemptOutcome::new(end.at, outcome));
        }
        match &end.result {
            Ok(()) => _ = life.settle(which, end.at),
            Err(failure) if life.drop_failed(which, end.at, failure.reason) => return None,
            Err(_) => {}
        }
        Some(self.whole(end))
    }

    /// Ends the attempts under way before an answer is over. All of its text may still have come.
    fn cut_off<A: Answer>(
        &mut self,
        life: &mut RequestLife<'_, LiveAnswer<A>>,
        at: Timestamp,
        outcome: Outcome,
    ) -> AttemptOutcome {
        self.record.finish_reason = life.handle(Which::First).and_then(|live| live.answer.finish_reason());
        self.conclude(life, AttemptOutcome::new(at, outcome))
    }

    /// Takes over what is known of the attempt that decided. It cancels the other where there are two.
    fn conclude<A: Answer>(
        &mut self,
        life: &mut RequestLife<'_, LiveAnswer<A>>,
        ended: AttemptOutcome,
    ) -> AttemptOutcome {
        if let Some(live) = life.handle(Which::First) {
            (self.record.headers, self.record.target, self.record.address) = (live.headers, live.target, live.address);
        }
        let end = match &ended.outcome {
            Outcome::Completed => AttemptEnd::Answered,
            Outcome::Failed(failure) => AttemptEnd::Failed(failure.reason),
            Outcome::Cancelled | Outcome::Censored => AttemptEnd::Cancelled,
        };
        let again = life.conclude(ended.at, end, ended.retry_after, self.record.chunks.tokens());
        AttemptOutcome { again, ..ended }
    }

    /// Ends the request.
    fn finish<H>(mut self, ended: AttemptOutcome, life: RequestLife<'_, H>, progress: &Progress) -> FinishedRequest {
        let AttemptOutcome { at, outcome, captured, .. } = ended;
        let row = self.row;
        let mut record = self.close(at, outcome);
        if let Some(attempts) = life.into_attempts() {
            progress.answer_kept(&record);
            record.set_attempts(attempts);
        }
        FinishedRequest { record, captured, row }
    }
}

#[cfg(test)]
mod tests;
