//! Requests: read from a body and checked against what is served.

mod fields;
mod form;
mod inputs;
mod prompt;
mod read;
mod shape;
#[cfg(test)]
mod tests;

pub(super) use fields::{BodyFields, object};
pub(super) use form::{AUDIO_TOKENS_PER_S, FORM, form};
pub(super) use inputs::ResultsAsked;
pub(super) use prompt::{PromptTokens, id, token};
pub(super) use read::{Request, ServedModels, UsageIn};
