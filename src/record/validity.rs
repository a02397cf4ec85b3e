//! Whether an answer has the form that it was asked to have.

use serde::{Deserialize, Serialize};

use crate::workload::ShapeFault;

/// What became of the form that an answer was asked to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Validity {
    /// It has the form.
    Valid,
    /// It came whole and does not.
    Invalid {
        /// Why not.
        fault: ShapeFault,
    },
    /// It does not, for it was cut at its longest length: that says nothing of the form.
    CutAtLimit,
    /// It did not come whole.
    NotCompleted,
}
