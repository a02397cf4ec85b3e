//! Request bodies: what all requests of a run share is serialised once.

mod answer_form;
mod parts;
mod secrets;
mod template;
mod templates;

pub(super) use templates::{BodyTemplates, LONG_ANSWER, SHORT_ANSWER, TEST_TOKENS, golden_body};
