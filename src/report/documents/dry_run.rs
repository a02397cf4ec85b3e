//! What would be run.

use crate::report::document::{Document, Section, Tone, VerdictLine};

/// What `--dry-run` shows of `what`: its facts, in their order.
pub fn document(what: &str, facts: &[(&'static str, String)]) -> Document {
    let verdict = VerdictLine::new(Tone::Neutral, "DRY RUN", format!("{what}; nothing is sent"));
    let mut section = Section::summary("Plan");
    for (name, value) in facts {
        section.fact(*name, value.clone());
    }
    let mut document = Document::new(format!("Plan of {what}")).verdict(verdict);
    document.add([section]);
    document
}

/// A plan of another form, with the options that were not typed behind it.
pub fn with_settings(mut document: Document, settings: &[(&'static str, String)]) -> Document {
    let mut section = Section::summary("Options that were not typed");
    for (name, value) in settings {
        section.fact(*name, value.clone());
    }
    document.add([section]);
    document
}
