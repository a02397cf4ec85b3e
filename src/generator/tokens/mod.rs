//! Tokens of texts: counted by a tokenizer, by the server's `/tokenize`, or estimated.

pub(super) mod costs;
mod ranks;
pub(super) mod tokenizer;

pub use tokenizer::TokenCounter;
