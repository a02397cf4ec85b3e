//! A table of experiments: rows with a question and a hypothesis each, variants of a server, a contract, and what came of
//! them.

mod cell;
mod contract;
mod decision;
mod ended;
mod experiment;
mod measured;
mod result;
mod table;
mod tested;
#[cfg(test)]
mod tests;

pub use super::driver::{FailedBy, Failure};
pub use cell::{Cell, CellRun, CellRuns, RowRun, Trust};
pub use contract::{Contract, Demand};
pub use decision::{Decision, Stopped, VariantDecision, VariantStanding};
pub use ended::Ended;
pub use experiment::{MatrixExperiment, MatrixRun};
pub use measured::{Measured, RowFigures};
pub use result::{Matrix, Unstopped};
pub use table::{
    Accept, Claim, ClaimError, ClaimKind, Experiments, PrefixReuse, Reference, Row, ServerSettings, Settings,
    Slot, Spacing, StopWhen, Variable, Variant,
};
pub use tested::{Standing, Tested};
