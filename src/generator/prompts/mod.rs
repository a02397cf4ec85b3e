//! Prompts: texts of the requested number of tokens, no two alike.
//!
//! A prompt is a lead, the class's own text, and filler. The *lead* is a few words that no other request of this or
//! another run has, so that no prefix cache can share a prompt's first block. The *filler* consists of common words,
//! most of them one token each, so that a prompt can meet its count exactly.
//!
//! Where requests are meant to begin alike, a *shared text* comes first: filler that depends only on a key and the
//! salt.
//!
//! [`TokenCosts`](crate::generator::tokens::costs::TokenCosts) says what a piece of text costs in tokens:
//! counted by a local tokenizer, by the server's `/tokenize`, or estimated.

pub(super) mod builder;
mod class_text;
mod draft;
mod ids;
mod inputs;
mod of_file;
mod shared;
mod vocabulary;

pub use builder::PromptBuilder;
