//! The run log on disk: written, read, checked, and merged from shards.

mod lines;
mod merge;
mod plausibility;
mod runlog;
mod shard_difference;
mod writer;

pub(crate) use lines::LineFile;
pub use merge::{MergeError, MergedRun, NamedLog, merge};
pub use runlog::{LogLine, RunLog, RunLogError};
pub use writer::RunLogWriter;
