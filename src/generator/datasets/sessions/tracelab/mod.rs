//! `TraceLab`'s traces: rounds of agents, with the lengths of their prompts.

mod callers;
mod minted;
mod rounds;
mod table;

pub(super) use rounds::{TraceLabReader, fits};
pub(super) use table::{TraceLabTable, fits as fits_table};
