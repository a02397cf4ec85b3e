//! What came of holding the records of a run to its plan.

/// The result of holding the records of a run to its plan. The plan is drawn again from the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanCheck {
    /// The records are the plan's.
    Held {
        /// Records that were compared.
        records: u64,
        /// Parts that could not be compared, and why. Empty where all was.
        unchecked: Vec<String>,
    },
    /// The records are not the plan's.
    Differs {
        /// Records, and facts of the header, that differ.
        number: u64,
        /// The first few differences, in words.
        first: Vec<String>,
    },
    /// The plan could not be drawn again, for this reason.
    NotChecked(String),
}
