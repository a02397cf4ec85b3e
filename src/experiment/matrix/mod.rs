//! A table of experiments: rows with a question and a hypothesis each, variants of a server, a contract, and what came
//! of them.

mod cell;
mod decision;
mod experiment;
mod ratio;
mod result;
mod runs;
mod table;
mod tested;
#[cfg(test)]
mod tests;

pub use super::driver::{FailedBy, RunFailure};
pub use super::spoiled::InvalidRuns;
pub use cell::{CellRun, MatrixCell};
pub use decision::{Decision, RankedVariant, VARIANT_WORDS, VariantDecision};
pub use experiment::{MatrixExperiment, MatrixRun};
pub use result::{Ended, Matrix, MatrixStopped, Unstopped};
pub use runs::{CellRuns, RowRun};
pub(in crate::experiment) use table::objectives;
pub use table::{
    Accept, Claim, ClaimError, ClaimKind, Experiments, MatrixRow, MatrixSlot, MatrixVariable, PrefixReuse, Reference,
    Settings, Spacing, StopWhen, Variant, VariantServer,
};
pub(crate) use tested::in_currency;
pub use tested::{CLAIM_WORDS, ContractDemand, ContractResult, Tested};
