//! The record of one request.

use serde::{Deserialize, Serialize};

use super::chunks::ChunkTrain;
use super::outcome::{Outcome, Validity};
use super::turn::Phase;
use super::turn::Turn;
use crate::clock::Timestamp;
use crate::workload::Priority;

/// What one request did, from its place in the plan to its end. Latencies are computed from these moments by
/// `analysis`, never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    /// Place in the schedule, from 0; of a later turn of a session see [`Turn::index_of`].
    pub index: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// Its priority.
    pub priority: Priority,
    /// The leading part of its prompt that others of its class say too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<SharedPrefix>,
    /// Index of its tenant in the workload's list, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<u16>,
    /// Index of its model in the workload's list, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<u16>,
    /// Its place in a session; absent: it stands by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Prompt tokens asked for, those of a shared prefix and of the turns before it included.
    pub input_tokens_asked: u32,
    /// Answer tokens asked for.
    pub output_tokens_asked: u32,
    /// The moment the schedule says.
    #[serde(rename = "scheduled_ns")]
    pub scheduled: Timestamp,
    /// The pacer let it go. A request that never was has no record.
    #[serde(rename = "dispatched_ns")]
    pub dispatched: Timestamp,
    /// A place under the concurrency cap came free for it; absent when there was no cap.
    #[serde(rename = "admitted_ns", default, skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Timestamp>,
    /// The request was handed to the socket.
    #[serde(rename = "sent_ns", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
    /// The response status was known.
    #[serde(rename = "headers_ns", default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Timestamp>,
    /// Every chunk with non-empty content, reasoning or tool-call text. Empty for an answer that was not streamed.
    pub chunks: ChunkTrain,
    /// Whether the server counted the tokens of every chunk; a chunk that it did not count stands for one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chunks_counted: bool,
    /// First chunk that was not reasoning, where reasoning came before it.
    #[serde(rename = "first_answer_ns", default, skip_serializing_if = "Option::is_none")]
    pub first_answer: Option<Timestamp>,
    /// Arrival of the whole answer, where it was not streamed.
    #[serde(rename = "whole_answer_ns", default, skip_serializing_if = "Option::is_none")]
    pub whole_answer: Option<Timestamp>,
    /// The stream closed, was cancelled or failed.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Why the model stopped, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The server's own token counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Answer tokens, by the best source there was.
    pub output_tokens: u64,
    /// Where `output_tokens` comes from.
    pub output_tokens_source: TokenSource,
    /// Chunks that shared a read, and so a stamp, with the chunk before them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub merged_reads: u32,
    /// Whether its conversation ended with it before its time: the next turn would not have fit into the context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context_full: bool,
    /// Whether the request opened its own connection, for want of a ready one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opened_connection: bool,
    /// Whether the answer has the form that its class asks for; absent where it asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<Validity>,
}

/// Tokens of an answer that a tokenizer counted when the run was over: a line of the log after the answer's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedAnswer {
    /// Place of its request in the schedule.
    pub index: u64,
    /// Its tokens.
    pub tokens: u64,
}

impl RequestRecord {
    /// Whether its moment was planned before the run; that of a later turn of a session was not.
    #[must_use]
    pub fn is_opener(&self) -> bool {
        self.turn.is_none_or(|turn| turn.is_opener())
    }

    /// Whether nobody counted the tokens of an answer that came whole, so that its chunks stand for them.
    #[must_use]
    pub fn is_uncounted(&self) -> bool {
        self.output_tokens_source == TokenSource::Chunks && self.outcome == Outcome::Completed
    }

    /// Tokens of its prompt: as the server counted, else as asked for.
    #[must_use]
    pub fn prompt_tokens(&self) -> u64 {
        self.usage.map_or_else(|| u64::from(self.input_tokens_asked), |usage| usage.prompt_tokens)
    }

    /// Takes what a tokenizer counted.
    pub fn count(&mut self, tokens: u64) {
        self.output_tokens = tokens;
        self.output_tokens_source = TokenSource::Tokenizer;
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's skip_serializing_if passes a reference
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The leading part of a prompt that other requests of the same class and run say too, as under one system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedPrefix {
    /// Its number among those of the class, from 0, the most popular first.
    pub number: u32,
    /// Its tokens.
    pub tokens: u32,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// An end token or a stop string.
    Stop,
    /// The asked number of tokens was reached.
    Length,
    /// The model called a tool.
    ToolCalls,
    /// A content filter stepped in.
    ContentFilter,
    /// Anything else, in the server's word.
    Other(String),
}

/// Token counts as the server reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt, chat template included.
    pub prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// Prompt tokens that came from a prefix cache, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Answer tokens spent on reasoning, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

/// Where a count of answer tokens comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The server's `usage`.
    Usage,
    /// Counts that came with each chunk (`continuous_usage_stats` or `token_ids`).
    ChunkCounts,
    /// A tokenizer on this machine, which read the answer's text after the run.
    Tokenizer,
    /// The number of chunks: a guess that one chunk is one token.
    Chunks,
}
