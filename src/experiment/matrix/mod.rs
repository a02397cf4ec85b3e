//! A table of experiments: rows with a question and a hypothesis each, variants of a server, a contract, and what came
//! of them.

mod cell;
mod experiment;
mod ratio;
mod result;
mod table;
mod tested;
#[cfg(test)]
mod tests;

pub use super::driver::{FailedBy, RunFailure};
pub use super::spoiled::InvalidRuns;
pub use cell::{CellRun, CellRuns, MatrixCell, RowRun};
pub use experiment::{MatrixExperiment, MatrixRun};
pub use result::{Decision, Ended, Matrix, MatrixStopped, RankedVariant, Unstopped, VARIANT_WORDS, VariantDecision};
pub use table::{
    Accept, Claim, ClaimError, ClaimKind, Experiments, MatrixRow, MatrixSlot, MatrixVariable, PrefixReuse, Reference,
    Settings, Spacing, StopWhen, Variant, VariantServer,
};
pub(in crate::experiment) use table::{file, objectives, read_whole};
pub(crate) use tested::in_currency;
pub use tested::{CLAIM_WORDS, ContractDemand, ContractResult, Tested};
