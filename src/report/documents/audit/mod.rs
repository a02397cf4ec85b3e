//! An audit as a document: what a result supports, what cannot be concluded from it, and its checklist.

#[cfg(test)]
mod tests;

use serde_json::json;

use super::parts::checklist;
use crate::analysis::wording::counted;
use crate::analysis::{Audit, ItemStanding};
use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Note, Section, Tone, VerdictLine};

/// Version of the format of [`json`].
const SCHEMA: u32 = 1;
/// Characters of a line of a screen that lists limits.
const LINE: usize = 60;

/// The audits as JSON.
pub fn json(audits: &[Audit]) -> serde_json::Result<String> {
    indented(&json!({ "schema": SCHEMA, "audits": audits }))
}

/// The audits as a document.
pub fn document(audits: &[Audit]) -> Document {
    let results = || counted(audits.len() as u64, "result");
    let (title, verdict) = match audits {
        [only] => (format!("Audit of {}", only.name), verdict(only)),
        _ => (format!("Audit of {}", results()), VerdictLine::new(Tone::Neutral, "AUDITED", results())),
    };
    let mut document = Document::new(title).verdict(verdict);
    match audits {
        [only] => document.add(one(only, Section::continued(Level::Summary))),
        several => several.iter().for_each(|audit| {
            let mut head = Section::summary(audit.name.clone());
            let VerdictLine { word, sentence, .. } = self::verdict(audit);
            head.fact(word.to_lowercase(), sentence);
            document.add(one(audit, head));
        }),
    }
    document
}

/// The strongest sentence, or why there is none.
fn verdict(audit: &Audit) -> VerdictLine {
    match (&audit.strongest_sentence, audit.cannot_conclude.first()) {
        (Some(sentence), _) => VerdictLine::new(Tone::Neutral, "SUPPORTED", sentence.clone()),
        (None, Some(limit)) => VerdictLine::new(Tone::Bad, "UNSUPPORTED", limit.clone()),
        (None, None) => VerdictLine::new(Tone::Bad, "UNSUPPORTED", "no answer came"),
    }
}

/// What is said of one result below its sentence.
fn one(audit: &Audit, head: Section) -> Vec<Section> {
    let mut brief = Section::continued(Level::Brief);
    let limits = &audit.cannot_conclude;
    let short = limits.iter().map(|limit| limit.split(": ").next().unwrap_or_default());
    brief.facts("no conclusion", in_lines(short));
    if let Some(checklist) = &audit.checklist {
        for standing in [ItemStanding::Met, ItemStanding::NotMet, ItemStanding::NotReported] {
            brief.facts(standing.name(), in_lines(checklist::names(checklist, standing)));
        }
    }
    let caveats = audit.method.len() as u64;
    let of_method = (caveats > 0).then(|| format!(", and {} about its method", counted(caveats, "caveat")));
    brief.text(format!("Reasons and cures{}: --full", of_method.unwrap_or_default()));
    let all = Section::page("What cannot be concluded").with_notes(limits.iter().map(Note::info));
    let method = Section::page("What the method makes of the figures")
        .with_notes(audit.method.iter().map(Note::warning));
    let mut sections = vec![head, brief, all, method];
    sections.extend(audit.checklist.as_ref().map(checklist::section));
    sections
}

/// Words one behind the other, in lines that a screen has room for.
fn in_lines<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() + 2 <= LINE => {
                line.push_str(", ");
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
