//! Prompts from files: found, indexed and checked before a plan is drawn.
//!
//! A file is read once from beginning to end, row by row; for each row 24 bytes are kept: its position and lengths.
//! Its text is read again when its request is built.

mod error;
mod images;
mod json_list;
pub(super) mod messages;
mod parse;
mod pass;
pub(super) mod rows;
pub(super) mod sources;
mod survey;
#[cfg(test)]
mod tests;

pub(crate) use messages::texts as texts_of_messages;
pub use sources::{Datasets, PromptNeed};
