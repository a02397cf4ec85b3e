//! The truth about one request.

use serde::Serialize;

use crate::clock::Timestamp;

/// One request: what happened to it and when, in nanoseconds of the mock's clock.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Record {
    /// Number of the request, from 0, in order of arrival.
    pub(crate) request: u64,
    /// Its id in the answer.
    pub(crate) id: String,
    /// Its path.
    pub(crate) path: &'static str,
    /// HTTP status of the answer; `None` when none was sent.
    pub(crate) status: Option<u16>,
    /// When its body had been read.
    pub(crate) read_ns: Timestamp,
    /// When it entered the server's queue.
    pub(crate) queued_ns: Option<Timestamp>,
    /// When its first choice left the queue.
    pub(crate) scheduled_ns: Option<Timestamp>,
    /// Tokens of all its prompts.
    pub(crate) prompt_tokens: u64,
    /// Of them, found in the prefix cache.
    pub(crate) cached_tokens: u64,
    /// Answer tokens that were written.
    pub(crate) answer_tokens: u64,
    /// Writes in order.
    pub(crate) writes: Vec<Write>,
    /// When the last byte was written or the connection was gone.
    pub(crate) ended_ns: Timestamp,
    /// How it ended; `None` before that.
    pub(crate) end: Option<End>,
    /// Injected faults.
    pub(crate) faults: Vec<String>,
}

/// Tokens written to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Write {
    /// When the tokens were due.
    pub(crate) due_ns: Timestamp,
    /// When the operating system had taken their bytes; `None` when it never did.
    pub(crate) done_ns: Option<Timestamp>,
    pub(crate) tokens: u32,
    /// Choice index.
    pub(crate) choice: usize,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The whole answer was written.
    Finished,
    /// Answered with an error.
    Refused,
    /// Broken off by a fault.
    BrokenOff,
    /// Its client went away.
    Disconnected,
}

impl Record {
    pub(crate) fn new(
        request: u64,
        id: String,
        path: &'static str,
        read: Timestamp,
        faults: Vec<String>,
    ) -> Self {
        Self { request, id, path, read_ns: read, ended_ns: read, faults, ..Self::default() }
    }
}
