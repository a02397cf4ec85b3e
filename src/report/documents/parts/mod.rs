//! What several documents say: arrivals, latencies, diagnoses, names and their meaning.

pub(crate) mod arrivals;
pub(super) mod campaign;
pub(super) mod cells;
pub(super) mod checklist;
pub(crate) mod clients;
pub(super) mod diagnosis;
pub(super) mod glossary;
pub(crate) mod reproduction;
