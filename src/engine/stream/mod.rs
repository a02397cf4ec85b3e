//! From bytes to events: framing, chunks and the grammar of an answer. No clock and no socket is met here.

pub(crate) mod chunk;
pub(crate) mod fault;
pub(crate) mod grammar;
mod json;
pub(crate) mod reader;
mod shape;
pub(crate) mod sse;
mod usual;

pub use grammar::Close;
pub use reader::{Arrival, Progress, ResponseReader};

#[cfg(test)]
pub(crate) mod transcripts;
