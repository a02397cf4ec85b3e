//! What the file of a matrix says: rows, settings, variants, hypotheses, the contract.

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
pub use file::{Experiments, Slot};
pub use row::Row;
pub use settings::{PrefixReuse, Settings, Spacing};
pub use variable::Variable;
pub use variant::{ServerSettings, Variant};
