//! Monitors this machine during a run.

mod client;
mod loop_delay;
mod usage;
mod watcher;

pub(super) use client::ClientWatch;
