//! From bytes to events: framing, chunks and the grammar of an answer. No clock and no socket is met here.

pub(crate) mod chunk;
pub(crate) mod fault;
pub(crate) mod grammar;
pub(crate) mod reader;
pub(crate) mod sse;

#[cfg(test)]
pub(crate) mod transcripts;
