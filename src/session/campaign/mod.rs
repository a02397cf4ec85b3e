//! Experiments of many runs: folder, manifest, lock, resumption and progress, once for all of them.
//!
//! To resume is to begin again: `dir` opens the folder, locks it and refuses another manifest. Then
//! `conduct` reads the runs that are stored whole, carries out the others, and stores what all of them mean.

pub(crate) mod ab;
pub(crate) mod axis;
pub(crate) mod conduct;
pub(crate) mod dir;
pub(crate) mod matrix;
pub(crate) mod repeats;
pub(crate) mod reported;
pub(crate) mod serving;
mod start_watch;
pub(crate) mod sweep;
pub(crate) mod sweep_plan;
pub(crate) mod tune;
