//! vLLM's `/metrics`: counters, histograms and their text.

mod exposition;
mod meters;

pub(super) use exposition::{Readings, exposition};
pub(super) use meters::{Finish, JobTimes, Meters};
