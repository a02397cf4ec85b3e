//! Latencies of requests and of gaps between tokens, and their distributions.
//!
//! `request` computes those of one request; `table` and `row` gather them; `intervals` says how sure a
//! percentile is, by how much the requests depend on one another.

pub(super) mod aliases;
mod clusters;
pub(super) mod curve;
pub(super) mod gaps;
pub(super) mod intervals;
pub(super) mod row;
#[cfg(test)]
mod schemas;
pub(super) mod table;
