//! What a run leaves behind: judged, on disk at once, in memory for the analysis.

mod collected;
mod judge;
mod writer;

pub use collected::{CollectedRun, FinishedRun};
pub use judge::Judge;
pub use writer::RecordWriter;
