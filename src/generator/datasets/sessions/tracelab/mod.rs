//! `TraceLab`'s traces: rounds of agents, with the lengths of their prompts.

mod callers;
mod minted;
mod rounds;

pub(super) use rounds::{TraceLabReader, fits};
