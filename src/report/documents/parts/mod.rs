//! What several documents say: arrivals, latencies, diagnoses, names and their meaning.

pub(crate) mod arrivals;
pub(super) mod cells;
pub(crate) mod clients;
pub(super) mod diagnosis;
pub(super) mod glossary;
