//! Says in which regime a server seems to be, from the figures of its runs: symptoms with their evidence, and what to
//! try.
//!
//! The rules are those of a table that operators go by (symptom, likely regime, what confirms it, first response). Each
//! looks at the evidence and speaks, stays silent, or says what it lacked. None of them changes a verdict: a diagnosis
//! is a hypothesis with its figures, and names what would confirm it.

mod batching;
mod cache;
pub(super) mod concurrency;
mod counters;
mod course;
mod decode;
mod evidence;
mod findings;
mod overload;
mod prefill;
mod stalls;
mod symptom;
mod tail;

pub use cache::warm_like_cold;
pub use course::LoadFigures;
pub use findings::{Diagnosis, MissingEvidence};
pub use symptom::{CounterTest, Regime, Symptom};
