//! The file of a matrix: rows, settings, variants, hypotheses, the contract.

mod accept;
mod claim;
mod file;
mod row;
mod sampling;
mod settings;
mod spec;
mod stored;
mod variant;

pub(in crate::experiment) use accept::objectives;
pub use accept::{Accept, StopWhen};
pub use claim::{Claim, ClaimError, ClaimKind, Reference};
pub use file::{Experiments, MatrixSlot};
pub(in crate::experiment) use file::{file, read_whole};
pub use row::MatrixRow;
pub use settings::{MatrixVariable, PrefixReuse, Settings, Spacing};
pub use variant::{Variant, VariantServer};
