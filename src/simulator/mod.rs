//! A model of a serving engine: continuous batching, step by step, in virtual time.
//!
//! One step is one forward pass. An [`Instance`] keeps the queue, the running set and the KV blocks as vLLM's V1
//! engine does ([`Limits`]), and a [`StepTime`] says how long each pass takes: from a [`Roofline`] of a model on
//! hardware, or from a measured table. [`simulate`] runs any [`Server`] over virtual time; a mock server runs the same
//! [`Server`] over real time.

mod deployment;
mod effort;
mod engine;
mod fleet;
mod job;
mod server;
mod simulate;
mod step_time;

pub use deployment::{
    Deployment, DoesNotFit, Experts, HARDWARE, Hardware, KvLayout, MODELS, Precision, ServingModel,
    UnknownName,
};
pub use effort::Effort;
pub use engine::{
    BLOCK_SIZE, BatchingConfig, Delay, FixedQueue, Instance, Limits, Policy, Speculation, Step,
};
pub use fleet::{
    BadFleet, Cluster, Engine, Fleet, KvTransfer, Lane, Layout, NoReplicas, Pools, Routing, RoutingRule,
};
pub use job::{Job, JobId, Prefix, urgency};
pub use server::{FirstToken, Gauges, Reject, Server, TokenEvent};
pub use simulate::{Driver, End, History, simulate};
pub use step_time::{
    BadTable, BandwidthMath, Efficiency, LinearStep, Roofline, StepParts, StepTable, StepTime, StepWork,
};
