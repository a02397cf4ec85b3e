//! One engine: continuous batching as vLLM's V1 does it, and a plain queue without physics.

pub(super) mod batching;
pub(super) mod fixed_queue;
mod kv;
mod scheduler;
mod sequence;
mod step_scheduler;

pub use batching::{BLOCK_SIZE, BatchingConfig, BatchingEngine, EngineStep, SchedulerKind};
pub use fixed_queue::{Delay, FixedQueue};
pub use kv::{BlockPool, PrefixCache};
pub use scheduler::VllmScheduler;
pub use sequence::Sequence;
pub use step_scheduler::{PlannedStep, StepScheduler};
