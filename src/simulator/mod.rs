//! A model of a serving engine: continuous batching, step by step, in virtual time.
//!
//! One step is one forward pass. An [`Instance`] keeps the queue, the running set and the KV blocks as vLLM's V1
//! engine does ([`Limits`]), and a [`StepTime`] says how long each pass takes: from a [`Roofline`] of a model on
//! hardware, or from a measured table. [`simulate`] runs any [`Server`] over virtual time; a mock server runs the same
//! [`Server`] over real time.

mod bandwidth;
mod cluster;
mod delay;
mod deployment;
mod driver;
mod effort;
mod fixed_queue;
mod fleet;
mod front_end;
mod hardware;
mod instance;
mod job;
mod kv;
mod limits;
mod linear_step;
mod model;
mod pools;
mod precision;
mod preset;
mod roofline;
mod router;
mod scheduler;
mod sequence;
mod server;
mod simulate;
mod speculative;
mod step_time;

pub use bandwidth::BandwidthMath;
pub use cluster::{Cluster, NoReplicas};
pub use delay::Delay;
pub use deployment::{Deployment, DoesNotFit};
pub use driver::{Driver, End, History};
pub use effort::Effort;
pub use fixed_queue::FixedQueue;
pub use fleet::{BadFleet, Engine, Fleet, Layout, RoutingRule};
pub use hardware::{HARDWARE, Hardware};
pub use instance::{BLOCK_SIZE, Instance, InstanceConfig, Step};
pub use job::{Job, JobId, Prefix, urgency};
pub use limits::{Limits, Policy};
pub use linear_step::LinearStep;
pub use model::{Experts, KvLayout, MODELS, ServingModel};
pub use pools::{KvTransfer, Pools};
pub use precision::Precision;
pub use preset::UnknownName;
pub use roofline::{Efficiency, Roofline, StepParts};
pub use router::{Lane, Routing};
pub use server::{FirstToken, Gauges, Reject, Server, TokenEvent};
pub use simulate::simulate;
pub use speculative::Speculation;
pub use step_time::{BadTable, StepTable, StepTime, StepWork};
