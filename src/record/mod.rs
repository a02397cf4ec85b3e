//! What happened: one record a request, and the log that keeps them for ever.

mod calibration;
mod chunks;
mod client;
mod header;
mod merge;
mod outcome;
mod possible;
mod request;
mod runlog;
mod shard;
mod turn;

pub use calibration::Calibration;
pub use chunks::{ChunkTrain, TokenChunk};
pub use client::{ClientFacts, Delays, Pause, ServerCounters, StampSource};
pub use header::{
    CachePreparation, EngineFacts, HostFacts, Limits, PlanFacts, PromptFacts, PromptMethod, Repeat,
    RunEnding, RunFooter, RunHeader,
};
pub use merge::{MergeError, Merged, NamedLog, merge};
pub use outcome::{Failure, FailureKind, Outcome};
pub use request::{CountedAnswer, FinishReason, Phase, RequestRecord, SharedPrefix, TokenSource, Usage};
pub use runlog::{RunLog, RunLogError, RunLogWriter};
pub use shard::Shard;
pub use turn::{SessionCounts, Turn};
