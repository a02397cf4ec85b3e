//! A request that has ended, on its way to whoever keeps it.

use crate::engine::Kept;
use crate::record::RequestRecord;

/// A request that has ended.
#[derive(Debug)]
pub struct Landed {
    /// What happened to it.
    pub record: RequestRecord,
    /// What the server said, where that was to be kept and came whole.
    pub kept: Option<Kept>,
}

impl From<RequestRecord> for Landed {
    /// Of one whose answer is not known.
    fn from(record: RequestRecord) -> Self {
        Self { record, kept: None }
    }
}
