//! What happened: one record a request, and the log that keeps them for ever.

mod calibration;
mod check;
mod chunks;
mod client;
mod deployment;
mod header;
mod merge;
mod outcome;
mod parameters;
mod possible;
mod request;
mod runlog;
mod shard;
mod telemetry;
mod turn;
mod validity;

pub use calibration::Calibration;
pub use check::{CheckRecord, CheckResult};
pub use chunks::{ChunkTrain, TokenChunk};
pub use client::{ClientFacts, Delays, Pause, ServerCounters, StampSource};
pub use deployment::DeploymentFacts;
pub use header::{
    CachePreparation, EngineFacts, HostFacts, Limits, PlanFacts, PromptFacts, PromptMethod, Repeat,
    RunEnding, RunFooter, RunHeader,
};
pub use merge::{MergeError, Merged, NamedLog, merge};
pub use outcome::{Failure, FailureKind, Outcome};
pub use parameters::RequestParameters;
pub use request::{CountedAnswer, FinishReason, Phase, RequestRecord, SharedPrefix, TokenSource, Usage};
pub use runlog::{RunLog, RunLogError, RunLogWriter};
pub use shard::Shard;
pub use telemetry::{
    ClientSample, Counter, DeviceReading, Gauge, PageKind, Reading, ServerState, ServerTime, Telemetry,
    TelemetrySource, TimeHistogram, TokenCounting,
};
pub use turn::{SessionCounts, Turn};
pub use validity::Validity;
