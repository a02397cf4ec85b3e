//! The run log on disk: written, read, checked, and merged from shards.

mod damage;
mod line;
mod lines;
mod merge;
mod plausibility;
mod possible;
mod reader;
mod runlog;
mod seal;
mod shard_difference;
mod turns;
mod writer;

pub use damage::LogDamage;
pub use line::LogLine;
pub(crate) use lines::LineFile;
pub use merge::{MergeError, MergedRun, NamedLog, merge};
pub use runlog::{RunLog, RunLogError};
pub use writer::RunLogWriter;
