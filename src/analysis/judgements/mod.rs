//! Results of rules on a run: checks with their verdict, advice, and items of the checklist.

pub(super) mod check;
pub(super) mod finding;
pub(super) mod item;
