//! Figures and their names: values with their bounds, statistics, keys, parts of a run.

pub(super) mod catalogue;
#[cfg(test)]
mod chapter;
pub(super) mod info;
pub(super) mod key;
pub(super) mod part;
pub(super) mod percentile;
pub(super) mod quantile;
pub(super) mod rows;
pub(super) mod unit;
