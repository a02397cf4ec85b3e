//! Prompts from files, and token ids: found, indexed and checked before a plan is drawn.
//!
//! A file is read once from beginning to end, row by row; for each row 24 bytes are kept: its position and lengths.
//! Its text is read again when its request is built.

pub(super) mod draws;
pub(super) mod error;
pub(super) mod images;
pub(super) mod index;
pub(super) mod json_list;
pub(super) mod messages;
pub(super) mod parse;
pub(super) mod pass;
pub(super) mod sources;
pub(super) mod survey;
#[cfg(test)]
mod tests;
pub(super) mod token_ids;

pub use error::{BadRow, DatasetError, RowPosition};
pub use sources::{Datasets, RequiredEndpoint};
