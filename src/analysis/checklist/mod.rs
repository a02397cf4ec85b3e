//! A trust checklist: what a reader asks of a benchmark before believing it, judged from neutral evidence.
//!
//! The items are those of the checklists, anti-patterns and reporting rules of the field. They do not change
//! a verdict: a VALID run is well measured, and may still measure what no production traffic looks like.

pub(super) mod audit;
pub(super) mod evidence;
mod judge;
mod limits;
pub(super) mod of_run;
mod reporting;
mod sentence;
#[cfg(test)]
mod tests;
mod traffic;
