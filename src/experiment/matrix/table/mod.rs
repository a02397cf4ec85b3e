//! The file of a matrix: rows, settings, variants, hypotheses, the contract.

mod accept;
mod claim;
mod file;
mod row;
mod sampling;
mod settings;
mod spec;
mod stored;
mod variable;
mod variant;

pub(in crate::experiment) use accept::objectives;
pub use accept::{Accept, StopWhen};
pub use claim::{Claim, ClaimError, ClaimKind, Reference};
pub use file::{Experiments, MatrixSlot};
pub use row::MatrixRow;
pub use settings::{PrefixReuse, Settings, Spacing};
pub use variable::MatrixVariable;
pub use variant::{Variant, VariantServer};
