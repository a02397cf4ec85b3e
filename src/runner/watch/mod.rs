//! What the measuring machine goes through while a run is on.

mod client;
mod loop_delay;
mod meter;
mod standstills;
mod usage;
mod watcher;

pub(super) use client::ClientWatch;
pub use meter::SampleSink;
