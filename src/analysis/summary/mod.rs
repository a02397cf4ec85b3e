//! The summary of a run: what it holds, how a figure is read from it, and how it stands to objectives.

pub(super) mod absent;
pub(super) mod across_runs;
pub(super) mod description;
mod objectives;
mod read;
pub(super) mod reproduction;
pub(super) mod run;
pub(super) mod scenario;
pub(super) mod set;
#[cfg(test)]
mod tests;
