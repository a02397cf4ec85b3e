//! Figures and their names: values with their bounds, statistics, keys, parts of a run.

mod absent;
pub(super) mod across_runs;
pub(super) mod aliases;
pub(super) mod catalogue;
#[cfg(test)]
mod chapter;
pub(super) mod info;
pub(super) mod key;
pub(super) mod part;
pub(super) mod percentile;
pub(super) mod quantile;
pub(super) mod read;
mod rows;
pub(super) mod set;
