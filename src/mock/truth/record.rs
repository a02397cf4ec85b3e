//! The truth about one request.

use serde::Serialize;

use crate::clock::Timestamp;

/// One request: what happened to it and when, in nanoseconds of the mock's clock.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mock) struct Record {
    /// Number of the request, from 0, in order of arrival.
    pub(in crate::mock) request: u64,
    /// Its id in the answer.
    pub(in crate::mock) id: String,
    /// Its path.
    pub(in crate::mock) path: &'static str,
    /// HTTP status of the answer; `None` when none was sent.
    pub(in crate::mock) status: Option<u16>,
    /// When its body had been read.
    pub(in crate::mock) read_ns: Timestamp,
    /// When it entered the server's queue.
    pub(in crate::mock) queued_ns: Option<Timestamp>,
    /// When its first choice left the queue.
    pub(in crate::mock) scheduled_ns: Option<Timestamp>,
    /// Tokens of all its prompts.
    pub(in crate::mock) prompt_tokens: u64,
    /// Of them, found in the prefix cache.
    pub(in crate::mock) cached_tokens: u64,
    /// Answer tokens that were written.
    pub(in crate::mock) answer_tokens: u64,
    /// Writes in order.
    pub(in crate::mock) writes: Vec<Write>,
    /// When the last byte was written or the connection was gone.
    pub(in crate::mock) ended_ns: Timestamp,
    /// How it ended; `None` before that.
    pub(in crate::mock) end: Option<End>,
    /// Injected faults.
    pub(in crate::mock) faults: Vec<String>,
}

/// Tokens written to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in crate::mock) struct Write {
    /// When the tokens were due.
    pub(in crate::mock) due_ns: Timestamp,
    /// When the operating system had taken their bytes; `None` when it never did.
    pub(in crate::mock) done_ns: Option<Timestamp>,
    pub(in crate::mock) tokens: u32,
    /// Choice index.
    pub(in crate::mock) choice: usize,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::mock) enum End {
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
    pub(in crate::mock) fn new(
        request: u64,
        id: String,
        path: &'static str,
        read: Timestamp,
        faults: Vec<String>,
    ) -> Self {
        Self {
            request,
            id,
            path,
            status: None,
            read_ns: read,
            queued_ns: None,
            scheduled_ns: None,
            prompt_tokens: 0,
            cached_tokens: 0,
            answer_tokens: 0,
            writes: Vec::new(),
            ended_ns: read,
            end: None,
            faults,
        }
    }
}
