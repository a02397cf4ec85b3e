//! One engine: continuous batching as vLLM's V1 does it, and a plain queue without physics.

pub(super) mod batching;
pub(super) mod fixed_queue;
mod kv;
mod scheduler;
mod sequence;

pub use batching::{BLOCK_SIZE, BatchingConfig, BatchingEngine, EngineStep};
pub use fixed_queue::{Delay, FixedQueue};
