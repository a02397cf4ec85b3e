//! A table of experiments: rows with a question and a hypothesis each, variants of a server, a contract, and what came of
//! them.

mod accept;
mod axes;
mod cell;
mod claim;
mod contract;
mod decision;
mod experiment;
mod file;
mod hypotheses;
mod kept;
mod measured;
mod result;
mod row;
mod settings;
mod spec;
mod tested;
#[cfg(test)]
mod tests;
mod variable;
mod variant;

pub use super::driver::{FailedBy, Failure};
pub use accept::{Accept, StopWhen};
pub use cell::{Cell, CellRun, CellRuns, RowRun, Trust};
pub use claim::{Claim, ClaimError, ClaimKind, Reference};
pub use contract::{Contract, Demand};
pub use decision::{Decision, Stopped, VariantDecision, VariantStanding};
pub use experiment::{MatrixExperiment, MatrixRun};
pub use file::{Experiments, Slot};
pub use kept::Ended;
pub use measured::{Measured, RowFigures};
pub use result::{Matrix, Unstopped};
pub use row::Row;
pub use settings::{PrefixReuse, Settings, Spacing};
pub use tested::{Standing, Tested};
pub use variable::Variable;
pub use variant::{ServerSettings, Variant};
