//! The work order of one request.

use crate::clock::Timestamp;
use crate::record::{ChunkTrain, Outcome, Phase, RequestRecord, SharedPrefix, TokenSource, Turn};
use crate::workload::{Priority, Slo};

/// One request of a plan: all of its work order but what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedRequest {
    /// Place in the schedule, from 0; of a later turn of a session see [`Turn::index_of`].
    pub index: u64,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// Index of its class in the workload's list.
    pub class: u16,
    /// The moment it leaves; of a later turn known once the one before has ended.
    pub scheduled: Timestamp,
    /// Tokens of prompt content asked for, those of a shared prefix and of the turns before it included.
    pub input_tokens: u32,
    /// Tokens of answer asked for.
    pub output_tokens: u32,
    /// How urgent it is.
    pub priority: Priority,
    /// What it promises.
    pub slo: Slo,
    /// The row of a dataset that it says, from 0 among those that are sent; absent where its class has no dataset.
    pub row: Option<u64>,
    /// How many images go along.
    pub images: u16,
    /// The leading part of its prompt that others of its class say too.
    pub prefix: Option<SharedPrefix>,
    /// Index of its tenant in the workload's list, where it has one.
    pub tenant: Option<u16>,
    /// Index of its model in the workload's list, where it has one.
    pub model: Option<u16>,
    /// Its place in a session; absent: it stands by itself.
    pub turn: Option<Turn>,
}

impl PlannedRequest {
    /// Tokens that it says itself: all of the prompt but what was said in turns before.
    #[must_use]
    pub fn new_tokens(&self) -> u32 {
        self.input_tokens - self.turn.map_or(0, |turn| turn.history_tokens.min(self.input_tokens))
    }

    /// The number of its session: its own index where it stands by itself.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.turn.map_or(self.index, |turn| turn.session)
    }

    /// The work order, with what it says.
    #[must_use]
    pub fn saying(self, prompt: Prompt) -> RequestSpec {
        RequestSpec { planned: self, prompt }
    }

    /// The record of this request at the moment it is let go: nothing has happened yet.
    #[must_use]
    pub fn record(&self, dispatched: Timestamp) -> RequestRecord {
        RequestRecord {
            index: self.index,
            phase: self.phase,
            class: self.class,
            priority: self.priority,
            prefix: self.prefix,
            tenant: self.tenant,
            model: self.model,
            turn: self.turn,
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

/// One request of a schedule, decided before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// Its place in the plan.
    pub planned: PlannedRequest,
    /// What it says.
    pub prompt: Prompt,
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
    /// What the user and the server said in turn, the user first and last: messages of a chat, or one text without
    /// anything between.
    Conversation(Vec<String>),
}

impl Default for Prompt {
    fn default() -> Self {
        Self::Text(String::new())
    }
}
