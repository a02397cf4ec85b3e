//! Experiments of many runs: folder, manifest, lock, resumption and progress, once for all of them.
//!
//! To resume is to begin again: `dir` opens the folder, locks it and refuses another manifest. Then
//! [`drive`](crate::experiment::drive) asks `executor` for every run in turn, which reads the runs that are
//! stored whole and carries out the others.

pub(crate) mod ab;
pub(crate) mod dir;
pub(crate) mod executor;
pub(crate) mod matrix;
pub(crate) mod serving;
pub(crate) mod sweep;
pub(crate) mod tune;
