//! The work order of one request.

use crate::clock::Timestamp;
use crate::record::{ChunkTrain, Outcome, Phase, RequestRecord, TokenSource};
use crate::workload::{Priority, Slo};

/// One request of a schedule, decided before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// Place in the schedule, from 0.
    pub index: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// The moment it leaves.
    pub scheduled: Timestamp,
    /// Tokens of prompt content asked for.
    pub input_tokens: u32,
    /// Tokens of answer asked for.
    pub output_tokens: u32,
    /// How urgent it is.
    pub priority: Priority,
    /// What it promises.
    pub slo: Slo,
    /// What it says.
    pub prompt: Prompt,
}

impl RequestSpec {
    /// The record of this request at the moment it is let go: nothing has happened yet.
    #[must_use]
    pub fn record(&self, dispatched: Timestamp) -> RequestRecord {
        RequestRecord {
            index: self.index,
            phase: self.phase,
            class: self.class,
            priority: self.priority,
            input_tokens_asked: self.input_tokens,
            output_tokens_asked: self.output_tokens,
            scheduled: self.scheduled,
            dispatched,
            admitted: None,
            sent: None,
            headers: None,
            chunks: ChunkTrain::default(),
            chunks_counted: false,
            first_answer: None,
            whole_answer: None,
            ended: dispatched,
            outcome: Outcome::Censored,
            finish_reason: None,
            usage: None,
            output_tokens: 0,
            output_tokens_source: TokenSource::Chunks,
            merged_reads: 0,
            opened_connection: false,
        }
    }
}

/// What a request says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text; in a chat, the one message of the user.
    Text(String),
    /// The messages of a chat: a JSON list, sent byte for byte.
    Messages(String),
    /// Token ids, of the completions endpoint.
    TokenIds(Vec<u32>),
}

impl Default for Prompt {
    fn default() -> Self {
        Self::Text(String::new())
    }
}
