//! The records of a run: checked, written to disk at once, kept in memory for the analysis.

mod collected;
mod writer;

pub use collected::CollectedRun;
pub use writer::{AnswerJudge, RecordWriter};
