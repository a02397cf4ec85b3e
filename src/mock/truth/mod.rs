//! What the mock really did, so that a client's figures can be held against it.

mod log;
mod record;
mod statistics;

pub(super) use log::TruthLog;
pub(super) use record::{End, Record, Write};
pub use statistics::MockStatistics;
