//! What would be run.

use crate::report::document::{Document, Section, Tone, VerdictLine};

/// Returns the document that `--dry-run` shows of `what`: its facts, in their order.
pub fn document(what: &str, facts: &[(&'static str, String)]) -> Document {
    let verdict = VerdictLine::new(Tone::Neutral, "DRY RUN", "nothing is sent");
    Document::new(format!("Plan of {what}")).verdict(verdict).with([section("Plan", facts)])
}

/// A plan of another form, with the options that were not typed behind it.
pub fn with_settings(document: Document, settings: &[(&'static str, String)]) -> Document {
    document.with([section("Options that were not typed", settings)])
}

fn section(heading: &str, facts: &[(&'static str, String)]) -> Section {
    Section::summary(heading).named(facts.iter().map(|(name, value)| (*name, [value.as_str()])))
}
