//! Results of rules on a run: checks with their verdict, advice, and items of the checklist.

mod check;
mod finding;
mod item;
mod status;

pub(crate) use check::Measure;
pub use check::{Check, Reason, Rule, Verdict, VerdictOutcome};
pub use finding::{Finding, FindingKind};
pub use item::{Checklist, ChecklistItem, ChecklistRule};
pub(in crate::analysis) use item::{Found, met, not_met, not_reported};
pub use status::Status;
