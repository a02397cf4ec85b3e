//! The record of one request.

use std::num::NonZeroU16;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::chunks::{ChunkTrain, LateStamps, TokenChunk};
use super::kinds::{FinishReason, LostConnection, SharedPrefix, TokenSource, WorkKind};
use super::oddity::Oddity;
use super::outcome::{Outcome, Validity};
use super::release::Release;
use super::score::Score;
use super::turn::{Phase, Turn};
use super::usage::Usage;
use crate::clock::Timestamp;
use crate::units::millis;
use crate::workload::Priority;

/// The course of one request, from its plan to its end. `analysis` computes latencies from these moments; they are
/// never stored. A run may have millions: what is large and few have is boxed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RequestRecord {
    /// Position in the schedule, from 0; for a later turn of a session see [`Turn::index_of`].
    pub index: u64,
    /// The part of the run that it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// Its priority.
    pub priority: Priority,
    /// The prefix of its prompt that other requests of its class share.
    pub prefix: Option<SharedPrefix>,
    /// Index of its tenant in the workload's list, if any.
    pub tenant: Option<u16>,
    /// Index of its model in the workload's list, if any.
    pub model: Option<u16>,
    /// The number of its row's tags among those of its class's dataset, if any.
    pub tags: Option<u16>,
    /// Its place in a session; absent if it stands alone.
    pub turn: Option<Box<Turn>>,
    /// Ends of others that released it. Absent where its planned moment did, or the end of the turn before it.
    pub release: Option<Box<Release>>,
    /// Its server: the place in [`RunHeader::engines`](crate::record::RunHeader::engines).
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub target: u16,
    /// Its server's address, where it may have several. It is the place, from 1, in
    /// [`RunFooter::addresses`](crate::record::RunFooter::addresses).
    pub address: Option<NonZeroU16>,
    /// The kind of work that its answer counts as.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub work: WorkKind,
    /// Requested prompt tokens, including a shared prefix and previous turns.
    pub input_tokens_asked: u32,
    /// Requested answer tokens.
    pub output_tokens_asked: u32,
    /// The scheduled moment.
    #[serde(rename = "scheduled_ns")]
    pub scheduled: Timestamp,
    /// The pacer dispatched it. A request that was never dispatched has no record.
    #[serde(rename = "dispatched_ns")]
    pub dispatched: Timestamp,
    /// A slot under the concurrency cap became free; absent without a cap.
    #[serde(rename = "admitted_ns")]
    pub admitted: Option<Timestamp>,
    /// The request was handed to the socket, for the first time.
    #[serde(rename = "sent_ns")]
    pub sent: Option<Timestamp>,
    /// The response status was known.
    #[serde(rename = "headers_ns")]
    pub headers: Option<Timestamp>,
    /// Every chunk with non-empty content, reasoning or tool-call text. Empty for an answer that was not streamed.
    pub chunks: ChunkTrain,
    /// Whether the server counted the tokens of every chunk; other chunks count as one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chunks_counted: bool,
    /// First chunk that was not reasoning, if reasoning came before it.
    #[serde(rename = "first_answer_ns")]
    pub first_answer: Option<Timestamp>,
    /// Arrival of the whole answer, if it was not streamed.
    #[serde(rename = "whole_answer_ns")]
    pub whole_answer: Option<Timestamp>,
    /// The stream closed, was cancelled or failed.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Why the model stopped, in the server's words.
    pub finish_reason: Option<FinishReason>,
    /// The server's own token counts.
    pub usage: Option<Usage>,
    /// Its counts where they are impossible, by [`UsageBounds`](super::usage_bounds::UsageBounds): nothing uses them.
    pub impossible_usage: Option<Box<Usage>>,
    /// Oddities of the answer, for example fields that could not be read.
    pub oddities: Option<Box<Vec<Oddity>>>,
    /// Answer tokens, by the best available source.
    pub output_tokens: u64,
    /// Source of `output_tokens`.
    pub output_tokens_source: TokenSource,
    /// Tokens whose text never came, as of hidden reasoning: no time between chunks is theirs.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub hidden_tokens: u32,
    /// Chunks that arrived in the same read as the one before. They so have the same stamp.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub merged_reads: u32,
    /// Chunks of it whose stamps may be late.
    pub late_stamps: Option<Box<LateStamps>>,
    /// Whether its client was to leave before the end. No latency and no SLO counts it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
    /// Whether its conversation ended early with it: the next turn would have exceeded the context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context_full: bool,
    /// Whether the request opened a connection because none was ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opened_connection: bool,
    /// Whether the server had closed a connection that it could have used; absent where not.
    pub lost_connection: Option<LostConnection>,
    /// Whether the answer is in the format that its class requires. It is absent where the class requires none.
    pub validity: Option<Validity>,
    /// Whether the answer is right. It is absent where it is not complete, and where its class scores none.
    pub score: Option<Score>,
    /// Its attempts; absent where there was one and the record says all of it: [`RequestRecord::attempts`].
    /// Latency counts from the scheduled moment and `sent` is that of the first attempt that had a
    /// connection, so that no retry hides in either: [`RequestRecord::first_sent`] and
    /// [`RequestRecord::own_sent`] tell the attempts apart. Headers, chunks and what follows are those of the
    /// last attempt, or of the one that answered.
    pub attempts: Option<Box<Vec<Attempt>>>,
}

/// A request that was dispatched and had not ended when this was written. The run may be cut off before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnendedRequest {
    /// Index of the request.
    pub index: u64,
    /// The part of the run that it belongs to.
    pub phase: Phase,
    /// The moment when it was dispatched.
    #[serde(rename = "dispatched_ns")]
    pub dispatched: Timestamp,
}

impl UnendedRequest {
    /// Whether its moment was planned before the run, unlike that of a later turn.
    pub const fn is_opener(&self) -> bool {
        Turn::number_of(self.index) == 0
    }
}

impl RequestRecord {
    /// Whether its answer ended with calls of tools.
    pub fn calls_tools(&self) -> bool {
        self.finish_reason == Some(FinishReason::ToolCalls)
    }

    /// Whether its moment was planned before the run, unlike that of a later turn.
    pub fn is_opener(&self) -> bool {
        self.turn().is_none_or(|turn| turn.is_opener())
    }

    /// Whether its answer was scored and is wrong.
    pub fn is_wrong(&self) -> bool {
        self.score.is_some_and(|score| !score.right)
    }

    /// Its place in a session, if it has one.
    pub fn turn(&self) -> Option<Turn> {
        self.turn.as_deref().copied()
    }

    /// Chunks of it whose stamps may be late.
    pub fn late_stamps(&self) -> LateStamps {
        self.late_stamps.as_deref().copied().unwrap_or_default()
    }

    /// Returns whether the tokens of a complete answer were never counted. Its chunks then stand for them.
    pub fn is_uncounted(&self) -> bool {
        let is_counted = self.work == WorkKind::Items || self.output_tokens_source != TokenSource::Chunks;
        !is_counted && self.outcome == Outcome::Completed
    }

    /// Returns how long it lay in this program after its dispatch. That is until it was sent, from the slot on where it
    /// waited for one. None of it where it was not sent, or had to open a connection, which takes the server too.
    pub fn handed_over_in(&self) -> Duration {
        let ready = self.admitted.unwrap_or(self.dispatched);
        // Later attempts have waited.
        let sent = self.attempts().first().map_or(self.sent, |first| first.sent);
        sent.filter(|_| !self.opened_connection).map_or(Duration::ZERO, |sent| sent.since(ready))
    }

    /// Returns how long it lay in this program after its scheduled moment. A wait for a slot is no part of it.
    pub fn held_in_client(&self) -> Duration {
        self.dispatched.since(self.scheduled) + self.handed_over_in()
    }

    /// Prompt tokens: as the server counted, else as requested.
    pub fn prompt_tokens(&self) -> u64 {
        self.counted_prompt().unwrap_or_else(|| self.input_tokens_asked.into())
    }

    /// Prompt tokens as the server counted.
    pub fn counted_prompt(&self) -> Option<u64> {
        self.usage?.prompt()
    }

    /// Choices whose text came (`n`); 1 where none did.
    pub fn choices(&self) -> u64 {
        self.chunks.firsts().count().max(1) as u64
    }

    /// Answer tokens whose text came.
    pub fn shown_tokens(&self) -> u64 {
        self.output_tokens.saturating_sub(self.hidden_tokens.into())
    }

    /// Returns (last chunk − first chunk) / (tokens whose text came − `counted`), ms. With several choices both are
    /// sums over them. `None` where no token is left to divide by, and where all came in one piece: that is no pace.
    pub fn ms_per_token(&self, counted: u64) -> Option<f64> {
        let has_pace = self.chunks.len() as u64 > self.choices();
        let tokens = self.shown_tokens().checked_sub(counted).filter(|&left| left > 0 && has_pace)?;
        Some(millis(self.chunks.decode_time()?) / tokens as f64)
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let failure = match &self.outcome {
            Outcome::Failed(failure) => size_of_val(&**failure) + failure.message.capacity(),
            _ => 0,
        };
        let reason = match &self.finish_reason {
            Some(FinishReason::Other(reason)) => reason.capacity(),
            _ => 0,
        };
        let boxes = [
            self.turn.as_deref().map_or(0, size_of_val),
            self.late_stamps.as_deref().map_or(0, size_of_val),
            self.impossible_usage.as_deref().map_or(0, size_of_val),
            self.release.as_deref().map_or(0, Release::bytes),
            self.attempts.as_deref().map_or(0, |all| size_of_val(all) + size_of_val(all.as_slice())),
        ];
        let odd = self.oddities.iter().flat_map(|all| &***all).map(|odd| size_of_val(odd) + odd.what.capacity());
        size_of_val(self) + self.chunks.bytes() + failure + reason + boxes.into_iter().chain(odd).sum::<usize>()
    }

    /// Puts its clock later.
    pub(crate) fn put_later(&mut self, by: Duration) {
        let always = [&mut self.scheduled, &mut self.dispatched, &mut self.ended];
        let sending = [&mut self.admitted, &mut self.sent, &mut self.headers];
        let answering = [&mut self.first_answer, &mut self.whole_answer];
        for moment in always.into_iter().chain(sending.into_iter().chain(answering).flatten()) {
            *moment = moment.after(by);
        }
        if let Some(at) = self.release.as_deref_mut().and_then(Release::planned) {
            *at = at.after(by);
        }
        self.attempts.iter_mut().flat_map(|all| all.iter_mut()).for_each(|attempt| attempt.put_later(by));
        if !by.is_zero() {
            self.chunks = self.chunks.iter().map(|chunk| TokenChunk { at: chunk.at.after(by), ..chunk }).collect();
        }
    }

    /// Takes its last chunk away.
    pub fn drop_last_chunk(&mut self) {
        let at = self.chunks.pop().map(|chunk| chunk.at);
        self.merged_reads = self.merged_reads.saturating_sub(u32::from(at == self.chunks.last_at()));
    }

    /// Returns whether its complete answer ended early without a reason. Its length was not reached.
    pub(crate) fn lacks_reason(&self) -> bool {
        self.outcome == Outcome::Completed
            && self.finish_reason.is_none()
            && self.output_tokens < self.output_tokens_asked.into()
    }
}
