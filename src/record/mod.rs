//! What happened: one record per request, and the log that stores them.

mod gauge;
mod log;
mod request;
mod run;
mod telemetry;

pub use gauge::Gauge;
pub(crate) use log::{LineFile, farthest_apart, unnamed};
pub use log::{LogDamage, LogLine, MergedRun, NamedLog, RecordRef, Records, RunLog, RunLogError, RunLogWriter, merge};
pub use request::{
    Amendment, Attempt, AttemptEnd, AttemptKind, CheckRecord, CheckResult, ChunkTrain, CountedAnswer, Failure,
    FailureKind, FinishReason, GraphPlace, LateStamps, LostConnection, Oddities, Oddity, OddityKind, Outcome, Phase,
    Predecessor, Release, RequestRecord, Score, ScoredAnswer, SessionCounts, SharedPrefix, ShownText, TokenChunk,
    TokenSource, Turn, UnendedRequest, Usage, UsageBounds, Validity, WorkKind,
};
pub(crate) use run::RequestIds;
pub use run::{
    BreakerTrip, CachePreparation, Calibration, ClientFacts, ClientLimits, ClockOffset, ClockReference, ColdStart,
    Delays, DeploymentFacts, EngineFacts, EngineKind, Fact, HostFacts, HostStall, Http2Facts, PartKind, PlanCheck,
    PlanFacts, ProfiledStretch, PromptFacts, PromptMethod, Repeat, RequestParameters, Route, Routing, RunEnding,
    RunFooter, RunHeader, ServerCounters, Shard, StampSource, StreamReads,
};
pub use telemetry::{
    ClientSample, Counter, DeviceReading, PageKind, Reading, ServerState, ServerTime, Telemetry, TelemetrySource,
    TimeHistogram, TokenCounting,
};
