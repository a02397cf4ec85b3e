//! Request bodies: what all requests of a run share is serialised once.

mod answer_form;
mod golden;
mod template;
mod templates;

pub(super) use golden::body as golden_body;
pub(super) use templates::BodyTemplates;
