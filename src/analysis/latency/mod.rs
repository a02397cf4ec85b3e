//! Latencies of requests and of gaps between tokens, and their distributions.

pub(super) mod curve;
pub(super) mod dependence;
pub(super) mod gap_histogram;
pub(super) mod gaps;
pub(super) mod request;
pub(super) mod table;
