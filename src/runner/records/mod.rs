//! The records of a run: checked, written to disk at once, kept in memory for the analysis.

mod collected;
mod judge;
mod programs;
mod writer;

pub use collected::CollectedRun;
pub use judge::AnswerJudge;
pub use programs::missing_program;
pub use writer::RecordWriter;
