//! Results of other tools, read under our names; their command lines, said with our options.
//!
//! A tool's figure is taken over only where it means the same as ours ([`Metric`](crate::analysis::Metric) defines
//! ours); the others are listed with the reason. All of their latencies count from sending, so none is our `ttft` or
//! `e2e`, which count from the scheduled moment.

pub(crate) mod commands;
mod definitions;
mod evidence;
mod figures;
mod lenient;
mod read;
mod results;
mod rules;
mod run;
#[cfg(test)]
mod tests;
mod tool;
mod values;

pub use definitions::{Aspect, Definition};
pub(crate) use definitions::{Definitions, SKYLINE};
pub(crate) use figures::ForeignAnswer;
pub use figures::{ForeignFigures, ForeignLatency, ReportedFigures};
pub use read::ForeignFile;
pub use run::{
    ConcurrencyCap, ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure, WholeRunRates,
};
pub use tool::ForeignTool;
