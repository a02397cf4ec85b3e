//! The run log on disk: written, read, checked, and merged from shards.

mod damage;
mod line;
mod lines;
mod merge;
mod pages;
mod plausibility;
mod possible;
mod reader;
mod records;
mod runlog;
mod seal;
mod shard_difference;
mod turns;
mod writer;

pub use damage::LogDamage;
pub use line::LogLine;
pub(crate) use lines::{LineFile, unnamed};
pub(crate) use merge::farthest_apart;
pub use merge::{MergedRun, merge};
pub use records::{RecordRef, Records};
pub use runlog::{RunLog, RunLogError};
pub use shard_difference::NamedLog;
pub use writer::RunLogWriter;
