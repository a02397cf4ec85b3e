//! Experiments of many runs: their folder, manifest and lock.

pub(crate) mod dir;
