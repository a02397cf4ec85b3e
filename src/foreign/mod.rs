//! Results that other tools kept, read under our names.
//!
//! A tool's figure is taken for one of ours only where both mean the same ([`Metric`](crate::analysis::Metric) says what
//! ours mean); the others are named, with the reason. Latencies of all of them count from sending, so none is our `ttft`
//! or `e2e`, which count from the scheduled moment.

mod answer;
mod fields;
mod figures;
mod lenient;
mod read;
mod refused;
mod run;
#[cfg(test)]
mod tests;
mod tool;
mod tools;

pub use figures::{ForeignFigures, ForeignLatency, ReportedFigures};
pub use read::{ForeignError, ForeignFile};
pub use refused::UnmatchedFigure;
pub use run::{ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, WholeRunRates};
pub use tool::ForeignTool;
