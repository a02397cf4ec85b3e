//! The summary of a run, and how to reproduce it.

pub(super) mod reproduction;
pub(super) mod run;
pub(super) mod summarise;
