//! Monitors this machine during a run.

mod client;
mod host_stalls;
mod loop_delay;
mod meter;
mod usage;
mod watcher;

pub(super) use client::ClientWatch;
pub use meter::SampleSink;
