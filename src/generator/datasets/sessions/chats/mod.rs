//! Sessions whose prompts are messages of chats.

mod chain;
mod chat;
pub(super) mod dag;
mod dag_turn;
mod fields;
pub(super) mod messages;
pub(super) mod mlcommons;
pub(super) mod multi_turn;
mod span_attributes;
pub(super) mod spans;
#[cfg(test)]
mod tests;
