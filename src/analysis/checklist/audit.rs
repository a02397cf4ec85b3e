//! What a result bears: its checklist, the strongest sentence, what cannot be concluded, and what its method
//! makes wrong.

use serde::Serialize;

use super::evidence::Evidence;
use super::limits::cannot_conclude;
use super::sentence::strongest;
use crate::analysis::judgements::Checklist;

/// Conclusions that a result bears, and those that it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Name of the result: a run, a file, a run of a file.
    pub name: String,
    /// The strongest sentence that its data bears; absent where it bears none.
    pub strongest_sentence: Option<String>,
    /// Conclusions that the result does not bear, each with the reason.
    pub cannot_conclude: Vec<String>,
    /// Effects of the tool's method on the figures.
    pub method: Vec<String>,
    /// The checklist; absent for smoke runs and simulations.
    pub checklist: Option<Checklist>,
}

impl Audit {
    /// The audit of what is known under this name.
    pub fn new(name: impl Into<String>, evidence: &Evidence) -> Self {
        Self {
            name: name.into(),
            strongest_sentence: strongest(evidence),
            cannot_conclude: cannot_conclude(evidence),
            method: evidence.method.clone(),
            checklist: Checklist::from_evidence(evidence),
        }
    }
}
