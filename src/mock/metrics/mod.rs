//! What vLLM's `/metrics` tells: counters and histograms, and the text they are told in.

mod exposition;
mod histogram;
mod meters;

pub(super) use exposition::exposition;
pub(super) use meters::{Finish, JobTimes, Meters};
