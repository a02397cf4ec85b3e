//! Prompts that come from files, and token ids: found, indexed and checked before a plan is drawn from them.
//!
//! A file is read once from its beginning to its end, row by row, and what is kept of a row is where it lies and how
//! long it is: 24 bytes, whatever its text. The text of a row is read again when its request is made.

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
