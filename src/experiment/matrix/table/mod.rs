//! The file of a matrix: rows, settings, variants, hypotheses, the contract.

mod accept;
mod axes;
mod claim;
mod file;
mod hypotheses;
mod row;
mod settings;
mod spec;
mod stored;
mod variable;
mod variant;

pub use accept::{Accept, StopWhen};
pub use claim::{Claim, ClaimError, ClaimKind, Reference};
pub use file::{Experiments, MatrixSlot};
pub use row::MatrixRow;
pub use settings::{PrefixReuse, Settings, Spacing};
pub use variable::MatrixVariable;
pub use variant::{ServerSettings, Variant};
