//! Figures and their names: values with their bounds, statistics, keys, parts of a run.

pub(super) mod aliases;
pub(super) mod measure;
pub(super) mod metric;
pub(super) mod percentile;
pub(super) mod quantile;
pub(super) mod scope;
pub(super) mod sorted;
pub(super) mod subject;
