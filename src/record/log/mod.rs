//! The run log on disk: written, read, checked, and merged from shards.

mod kin;
mod merge;
mod possible;
mod runlog;
mod turns;

pub use merge::{MergeError, MergedRun, NamedLog, merge};
pub use runlog::{RunLog, RunLogError, RunLogWriter};
