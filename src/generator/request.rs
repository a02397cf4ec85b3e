//! One request of a plan: everything but its prompt, and with it.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::record::{Phase, RequestRecord, SharedPrefix, Turn};
use crate::workload::{Priority, Slo};

/// One request of a plan, without its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedRequest {
    /// Position in the schedule, from 0; for a later turn of a session see [`Turn::index_of`].
    pub index: u64,
    /// Part of the run that it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// The moment it leaves; for a later turn known once the previous one has ended.
    pub scheduled: Timestamp,
    /// Requested prompt tokens, including a shared prefix and previous turns.
    pub input_tokens: u32,
    /// Requested answer tokens.
    pub output_tokens: u32,
    /// Priority of the request.
    pub priority: Priority,
    /// SLO of the request.
    pub slo: Slo,
    /// Row of the dataset, from 0 among those sent. It is absent without a dataset.
    pub row: Option<u64>,
    /// The number of its row's tags among those of the dataset, where rows have some. Class and row decide it.
    pub tags: Option<u16>,
    /// Number of images.
    pub images: u16,
    /// The prefix of its prompt that other requests of its class share.
    pub prefix: Option<SharedPrefix>,
    /// Index of its tenant in the workload's list, if any.
    pub tenant: Option<u16>,
    /// Index of its model in the workload's list, if any.
    pub model: Option<u16>,
    /// Place in a session; absent if the request stands alone.
    pub turn: Option<Turn>,
}

impl PlannedRequest {
    /// The planned part of a record.
    pub(super) fn from_record(record: &RequestRecord) -> Self {
        Self {
            index: record.index,
            phase: record.phase,
            class: record.class,
            scheduled: record.scheduled,
            input_tokens: record.input_tokens_asked,
            output_tokens: record.output_tokens_asked,
            priority: record.priority,
            prefix: record.prefix,
            tenant: record.tenant,
            model: record.model,
            tags: record.tags,
            turn: record.turn(),
            ..PlannedRequest::default()
        }
    }

    /// Returns the new prompt tokens: all but those of previous turns.
    pub fn new_tokens(&self) -> u32 {
        self.input_tokens - self.turn.map_or(0, |turn| turn.history_tokens.min(self.input_tokens))
    }

    /// Number of its session: its own index if it stands alone.
    pub fn session(&self) -> u64 {
        self.turn.map_or(self.index, |turn| turn.session)
    }

    /// The request with its prompt.
    pub fn into_spec(self, prompt: Prompt) -> RequestSpec {
        RequestSpec { planned: self, prompt }
    }

    /// The record of this request at dispatch: nothing has happened yet.
    pub fn record(&self, dispatched: Timestamp) -> RequestRecord {
        RequestRecord {
            index: self.index,
            phase: self.phase,
            class: self.class,
            priority: self.priority,
            prefix: self.prefix,
            tenant: self.tenant,
            model: self.model,
            tags: self.tags,
            turn: self.turn.map(Box::new),
            input_tokens_asked: self.input_tokens,
            output_tokens_asked: self.output_tokens,
            scheduled: self.scheduled,
            dispatched,
            ended: dispatched,
            ..RequestRecord::default()
        }
    }
}

/// One request of a schedule, decided before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// The request without its prompt.
    pub planned: PlannedRequest,
    /// Prompt of the request.
    pub prompt: Prompt,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text; in a chat, the one user message.
    Text(String),
    /// The messages of a chat: a JSON list, sent byte for byte.
    Messages(String),
    /// The messages of an agent, with its tools.
    Dialogue(Dialogue),
    /// Token ids, for the completions endpoint.
    TokenIds(Vec<u32>),
    /// Audio: a WAV file.
    Audio(Vec<u8>),
    /// Inputs that one answer covers.
    Inputs {
        /// The query that all texts have in common, if there is one.
        query: Option<String>,
        /// The texts; one at least.
        texts: Vec<String>,
    },
    /// Texts that the user and the server said in turn, the user first and last. They are messages of a chat, or one
    /// text with nothing in between.
    Conversation(Vec<Arc<str>>),
}

/// The messages of an agent, with the tools that it may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// The messages: JSON objects with commas between them, sent byte for byte.
    pub messages: String,
    /// The list of tool definitions, as JSON.
    pub tools: Option<Arc<str>>,
}

impl Dialogue {
    /// The messages as a JSON list.
    pub fn list(&self) -> String {
        format!("[{}]", self.messages)
    }
}

impl Default for Prompt {
    fn default() -> Self {
        Self::Text(String::new())
    }
}
