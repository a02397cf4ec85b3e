//! Request bodies: the parts that are alike in all requests of a run are serialised once.

mod answer_form;
mod golden;
mod template;
mod templates;

pub(super) use golden::body as golden_body;
pub(super) use templates::BodyTemplates;
