//! Prompts from files: found, indexed and checked before a plan is drawn.
//!
//! A file is read once from beginning to end, row by row; for each row 24 bytes are kept: its position and lengths.
//! Its text is read again when its request is built. Prompts of tables, whose rows lie in columns, stay in memory.

pub(super) mod answer_key;
mod error;
mod hashed;
mod images;
mod json_list;
mod json_rows;
pub(super) mod messages;
mod parse;
mod pass;
mod png;
pub(super) mod rows;
mod sessions;
pub(super) mod sources;
mod survey;
mod table;
#[cfg(test)]
mod tests;
mod wav;

pub use answer_key::AnswerKey;
pub(super) use error::DatasetError;
pub(crate) use messages::texts as texts_of_messages;
pub(super) use sessions::{FilePromptText, SentPrompts, SessionStart, SessionStore, session_starts};
pub use sessions::{ShownSessions, has_moments, session_layout};
pub use sources::{Datasets, PromptNeed};
pub(super) use table::bytes_here;
pub(crate) use wav::AudioClip;
