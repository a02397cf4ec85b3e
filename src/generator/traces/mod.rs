//! Recorded traffic as a plan: reading trace files line by line, putting them in order, replaying a slice.
//!
//! ```text
//! TraceReader --> SortedRequests --> TraceSlice --> Replay --> Plan
//!  one line        by moment          from_s         scales     classes, phases
//! ```
//!
//! Nothing holds a whole trace: a reader has one line, the order a minute of the trace, and every copy of a trace that
//! is laid over itself reads the file for itself. Once a trace has been surveyed, its lines are known to be sound.

pub(super) mod error;
mod files;
mod kinds;
mod of_run;
pub(super) mod plan;
mod replay;
pub(super) mod requests;
mod serve_gen;
mod sessions;
mod slice;
pub(super) mod survey;

pub use files::{AccessLogFields, TraceWriter, read_log};
pub use requests::{Blocks, RequestTrace, TracedRequest, TracedWindow};
pub use survey::{survey, survey_with_lengths};

#[cfg(test)]
mod tests;
