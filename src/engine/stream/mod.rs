//! From bytes to events: framing, chunks and the grammar of an answer, without clock or socket.

pub(crate) mod chunk;
pub(crate) mod context;
pub(crate) mod fast_chunk;
pub(crate) mod fault;
pub(crate) mod form;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing;
pub(crate) mod grammar;
pub(crate) mod habits;
pub(crate) mod json;
pub(crate) mod reader;
pub(crate) mod reasons;
pub(crate) mod received;
mod repetition;
mod replicas;
pub(crate) mod sse;

pub use chunk::AnswerGrammar;
pub use fast_chunk::ChunkText;
pub use reader::ResponseReader;

#[cfg(test)]
pub(crate) mod transcripts;
