//! Verbs about what is stored: reports, audits, merged runs.

pub(super) mod audit;
pub(super) mod merge;
pub(super) mod report;
