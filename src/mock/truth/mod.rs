//! What the mock really did, to compare a client's figures with.

mod log;
mod record;
mod statistics;

pub(super) use log::TruthLog;
pub(super) use record::{End, Record, Write};
pub use statistics::MockStatistics;
