//! One request of a trace, whatever its format, with the blocks that its prompt begins with.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::workload::{Priority, TraceFormat};

/// One request of a trace.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TracedRequest {
    /// Moment at which it arrived: nanoseconds on the trace's clock.
    pub at_ns: i64,
    /// Tokens of its prompt.
    pub input_tokens: u32,
    /// Tokens of its answer.
    pub output_tokens: u32,
    /// Kind of the request in the trace.
    #[serde(rename = "class")]
    pub kind: Option<Box<str>>,
    /// Priority of the request; only Skyline's own traces have it.
    pub priority: Option<Priority>,
    /// Tenant of the request; only Skyline's own traces have it.
    pub tenant: Option<Box<str>>,
    /// Model of the request; only Skyline's own traces have it.
    pub model: Option<Box<str>>,
    /// The blocks that its prompt begins with; empty where the trace has none.
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    pub blocks: Box<[u64]>,
    /// The number of the session that it begins. With it is how long that lasts if answers take no time.
    #[serde(skip)]
    pub session: Option<(u64, Duration)>,
}

/// Requests in order, with the size of their blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTrace {
    /// The requests.
    pub requests: Vec<TracedRequest>,
    /// Tokens per block; absent where they have none.
    pub block_tokens: Option<u32>,
    /// The window that a run measured; absent for other traces.
    pub window: Option<TracedWindow>,
}

/// The window of the run that a trace was made from. It is in nanoseconds after the trace's zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TracedWindow {
    /// Moment at which the warm-up ended.
    pub from_ns: u64,
    /// Moment at which the run ended; later requests only kept the load up.
    pub to_ns: u64,
}

/// The blocks of one prompt in order: equal ids mean equal texts. All blocks have the same number of tokens, but a
/// prompt's last block ends with the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Identifies each block.
    pub ids: Box<[u64]>,
    /// Tokens of a block.
    pub tokens: u32,
}

/// Keeps the ids of copies apart (2⁶⁴ divided by the golden ratio).
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

impl Blocks {
    /// Makes the blocks of a request in one copy of a trace. Other copies have other texts.
    pub(super) fn new(ids: &[u64], tokens: u32, copy: u32) -> Self {
        let turned = u64::from(copy).wrapping_mul(APART);
        Self { ids: ids.iter().map(|id| id.wrapping_add(turned)).collect(), tokens }
    }
}

/// Facts that a trace says of all its requests. They are known as far as it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceFacts {
    pub(super) format: TraceFormat,
    /// Tokens of its requests' blocks; `None` where they have none.
    pub(super) block_tokens: Option<u32>,
    /// The window that a run measured, if the trace was made from one.
    pub(super) window: Option<TracedWindow>,
    /// Lines, and tables of a pool, that were left out.
    pub(super) skipped: u64,
    /// Lines and tables of a pool replaced by the nearest that can be drawn.
    pub(super) nearest: u64,
    /// Requests that the file lists after a later one.
    pub(super) reordered: u64,
    /// Whether its times are dates, whatever its format has.
    pub(super) dated: bool,
}

impl TraceFacts {
    pub(super) fn from_format(format: TraceFormat) -> Self {
        let block_tokens = format.block_tokens();
        Self { format, block_tokens, window: None, skipped: 0, nearest: 0, reordered: 0, dated: false }
    }
}

/// Fault of a line, and where in it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct BadLine {
    pub(super) place: String,
    pub(super) cause: String,
}
