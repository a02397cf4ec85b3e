//! Experiments of many runs: folder, manifest, lock, resumption and progress, once for all of them.

pub(crate) mod ab;
pub(crate) mod dir;
pub(crate) mod executor;
pub(crate) mod matrix;
pub(crate) mod serving;
pub(crate) mod sweep;
