//! A model of a serving engine: continuous batching, step by step, in virtual time.
//!
//! One step is one forward pass. An [`BatchingEngine`] keeps the queue, the running set and the KV blocks as vLLM's V1
//! engine does ([`SchedulerLimits`]), and a [`StepTime`] says how long each pass takes: from a [`Roofline`]
//! of a model on hardware, or from a measured table. A [`Driver`] runs any [`SimulatedServer`] over virtual
//! time; a mock server runs the same [`SimulatedServer`] over real time.

mod deployment;
mod engine;
mod fleet;
mod job;
mod limits;
mod server;
mod simulate;
mod step_time;
mod work_totals;

pub use deployment::*;
pub use engine::*;
pub use fleet::*;
pub use job::{Job, JobId, PrefixHashes, urgency};
pub use limits::{SchedulerLimits, SchedulingPolicy, Speculation};
pub use server::{FirstToken, Reject, ServerGauges, SimulatedServer, TokenEvent};
pub use simulate::{Driver, JobEnd, JobHistory};
pub use step_time::*;
pub use work_totals::{Shortage, WorkTotals};
