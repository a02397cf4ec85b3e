//! What a record says by kinds: of work, of finish reasons, of counts of tokens, of prefixes, of lost connections.

use serde::{Deserialize, Serialize};

/// Moment at which the server closed a connection that a request could have used. The request then opened another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostConnection {
    /// The time before the request was due.
    Idle,
    /// The moment at which the request was sent, before a byte of an answer. The request was sent again; its stamps
    /// count from the first sending.
    AsSent,
}

/// The kind of work that an answer counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Its tokens.
    #[default]
    Tokens,
    /// The items that it answers at once, as embeddings do.
    Items,
    /// Itself alone.
    None,
}

/// The prefix of a prompt that other requests share. They are of the same class and run, as under one system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedPrefix {
    /// Its number in the class, from 0, most popular first.
    pub number: u32,
    /// Its tokens.
    pub tokens: u32,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FinishReason {
    /// An end token or a stop string.
    Stop,
    /// The requested number of tokens was reached.
    Length,
    /// The model called a tool.
    ToolCalls,
    /// A content filter intervened.
    ContentFilter,
    /// Another reason, in the server's word.
    Other(String),
}

/// Sources of answer token counts, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TokenSource {
    /// The server's `usage`.
    Usage,
    /// Counts with each chunk (`continuous_usage_stats` or `token_ids`).
    ChunkCounts,
    /// A local tokenizer, applied to the answer's text after the run.
    Tokenizer,
    /// The number of chunks, assuming one token each.
    #[default]
    Chunks,
}
