//! Prompts that come from files, and token ids: found, indexed and checked before a plan is drawn from them.
//!
//! A file is read once from its beginning to its end, row by row, and what is kept of a row is where it lies and how
//! long it is: 24 bytes, whatever its text. The text of a row is read again when its request is made.

mod bad;
mod draws;
mod error;
mod images;
mod index;
mod json_list;
mod messages;
mod parse;
mod pass;
mod sources;
mod survey;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use bad::{BadRow, Column};
pub(super) use draws::{DrawnRow, RowDraws};
pub use error::DatasetError;
pub(super) use messages::led_by;
pub(super) use sources::Source;
pub use sources::{Datasets, Wire};
pub(super) use vocabulary::Vocabulary;
