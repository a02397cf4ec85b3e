//! The first and the last line of a run log, and what they are made of.

pub(super) mod client;
pub(super) mod clock;
mod cold_start;
pub(super) mod engine;
pub(super) mod engine_kind;
pub(super) mod fact;
pub(super) mod header;
mod limits;
pub(super) mod part_kind;
pub(super) mod plan_check;
pub(super) mod profiled;
pub(super) mod request_ids;
pub(super) mod routing;

pub use client::{Calibration, ClientFacts, Delays, HostStall, ServerCounters, Shard, StampSource, StreamReads};
pub use clock::{ClockOffset, ClockReference};
pub use cold_start::ColdStart;
pub use engine::{DeploymentFacts, EngineFacts, Http2Facts, RequestParameters};
pub use engine_kind::EngineKind;
pub use fact::Fact;
pub use header::{
    BreakerTrip, CachePreparation, HostFacts, PlanFacts, PromptFacts, PromptMethod, Repeat, RunEnding, RunFooter,
    RunHeader,
};
pub use limits::ClientLimits;
pub use part_kind::PartKind;
pub use plan_check::PlanCheck;
pub use profiled::ProfiledStretch;
pub(crate) use request_ids::RequestIds;
pub use routing::{Route, Routing};
