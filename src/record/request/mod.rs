//! The record of one request: its moments, its tokens, its place in a session, how it ended.

pub(super) mod check;
pub(super) mod chunks;
pub(super) mod outcome;
pub(super) mod record;
pub(super) mod turn;

pub use check::{CheckRecord, CheckResult};
pub use chunks::{ChunkTrain, TokenChunk};
pub use outcome::{Failure, FailureKind, Outcome, Validity};
pub use record::{CountedAnswer, FinishReason, RequestRecord, SharedPrefix, TokenSource, Usage};
pub use turn::{Phase, SessionCounts, Turn};
