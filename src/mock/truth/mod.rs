//! Log of what the mock really did, to compare a client's figures with.

mod log;
mod record;

pub(super) use log::TruthLog;
pub use record::MockStatistics;
pub(super) use record::{End, Record, Write};
