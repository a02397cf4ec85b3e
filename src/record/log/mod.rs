//! The run log on disk: written, read, checked, and merged from shards.

mod merge;
mod plausibility;
mod runlog;
mod shard_difference;

pub use merge::{MergeError, MergedRun, NamedLog, merge};
pub use runlog::{LogLine, RunLog, RunLogError, RunLogWriter};
