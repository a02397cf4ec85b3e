//! What came of holding the records of a run to its plan.

/// What came of holding the records of a run to its plan, drawn again from the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanCheck {
    /// They are the plan's.
    Held {
        /// Records that were compared.
        records: u64,
        /// What could not be compared, and why; empty where all was.
        unchecked: Vec<String>,
    },
    /// They are not.
    Differs {
        /// Records, and facts of the header, that differ.
        number: u64,
        /// The first few differences, in words.
        first: Vec<String>,
    },
    /// The plan could not be drawn again, for this reason.
    NotChecked(String),
}
