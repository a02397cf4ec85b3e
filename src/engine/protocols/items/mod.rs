//! Answers with a result for each of several inputs: vectors and scores.

mod embeddings;
#[cfg(test)]
mod readings;
mod rerank;
mod results;
mod score;

pub use embeddings::EMBEDDINGS;
pub use rerank::RERANK;
pub(in crate::engine) use results::times_of_text;
pub use score::SCORE;
