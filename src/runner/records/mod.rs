//! The records of a run: checked, written to disk at once, kept in memory for the analysis.

mod judge;
mod writer;

pub use judge::AnswerJudge;
pub use writer::{CollectedRun, RecordWriter};
