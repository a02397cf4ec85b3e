//! Recorded traffic as a plan: reading trace files line by line, putting them in order, replaying a slice.
//!
//! ```text
//! TraceReader --> InOrder --> Slice --> Replay --> TracePlan
//!  one line        by moment   from_s    scales     classes, phases
//! ```
//!
//! Nothing holds a whole trace: a reader has one line, the order a minute of the trace, and every copy of a trace that
//! is laid over itself reads the file for itself. Once a trace has been surveyed, its lines are known to be sound.

mod blocks;
mod columns;
mod error;
mod json_lines;
mod kinds;
mod logs;
mod of_run;
mod order;
mod plan;
mod reader;
mod replay;
mod requests;
mod reuse;
mod serve_gen;
mod slice;
mod survey;
mod write;

pub use blocks::Blocks;
pub use error::TraceError;
pub use logs::{LogFields, ReadLog, TimeUnit, read_log};
pub(super) use plan::TracePlan;
pub use requests::{Traced, TracedRequest, TracedWindow};
pub use survey::survey;
pub use write::TraceWriter;

#[cfg(test)]
mod tests;
