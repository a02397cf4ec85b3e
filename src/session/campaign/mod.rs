//! Experiments of many runs: their folder, manifest and lock.

pub(crate) mod dir;
pub(crate) mod server;
