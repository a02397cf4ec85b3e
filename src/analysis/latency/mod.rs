//! Latencies of requests and of gaps between tokens, and their distributions.
//!
//! `request` computes those of one request; `table` and `row` gather them. A percentile has two intervals: that of order
//! statistics, which takes requests as independent (`figures/percentile.rs`), and one from sections of the
//! run, which is reported where there is one.

pub(super) mod curve;
pub(super) mod gap_histogram;
pub(super) mod gaps;
pub(super) mod request;
pub(super) mod row;
pub(super) mod table;
