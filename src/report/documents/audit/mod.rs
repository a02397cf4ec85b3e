//! An audit as a document: what a result bears, what cannot be concluded from it, and its checklist.

use serde_json::json;

use super::parts::checklist;
use crate::analysis::wording::counted;
use crate::analysis::{Audit, ItemStanding};
use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Note, Section, Tone, VerdictLine};

/// Version of the format of [`json`].
const SCHEMA: u32 = 1;
/// Limits that a screen has room for, of one result.
const LIMITS: usize = 6;

/// The audits as JSON.
pub fn json(audits: &[Audit]) -> serde_json::Result<String> {
    indented(&json!({ "schema": SCHEMA, "audits": audits }))
}

/// The audits as a document.
pub fn document(audits: &[Audit]) -> Document {
    let (title, sentence) = match audits {
        [only] => (format!("Audit of {}", only.name), standing(only)),
        several => {
            let results = counted(several.len() as u64, "result");
            (format!("Audit of {results}"), results)
        }
    };
    let mut document = Document::new(title).verdict(VerdictLine::new(Tone::Neutral, "AUDITED", sentence));
    match audits {
        [only] => {
            document = document.about(only.name.clone());
            document.add(one(only, Section::continued(Level::Summary), LIMITS));
        }
        several => {
            for audit in several {
                let head = Section::summary(format!("{}: {}", audit.name, standing(audit)));
                document.add(one(audit, head, 0));
            }
        }
    }
    document
}

/// How many items are met, or why there is no checklist.
fn standing(audit: &Audit) -> String {
    audit.checklist.as_ref().map_or("no checklist: no server was measured".to_owned(), checklist::met)
}

/// What is said of one result; a screen shows so many of its limits.
fn one(audit: &Audit, mut head: Section, shown: usize) -> Vec<Section> {
    let nothing = || "nothing: this result bears no sentence".to_owned();
    head.fact("bears", audit.strongest_sentence.clone().unwrap_or_else(nothing));
    let mut brief = Section::continued(Level::Brief);
    if let Some(checklist) = &audit.checklist {
        for standing in [ItemStanding::Met, ItemStanding::NotMet, ItemStanding::NotReported] {
            let names = checklist::names(checklist, standing);
            brief.facts(standing.name(), (!names.is_empty()).then(|| names.join(", ")));
        }
    }
    let limits = &audit.cannot_conclude;
    let mut some = match shown {
        0 => Section::continued(Level::Brief),
        _ => Section { level: Level::Brief, ..Section::summary("What cannot be concluded") },
    };
    some.notes(limits.iter().take(shown).map(Note::info));
    let hidden = limits.len().saturating_sub(shown) + audit.method.len();
    if hidden > 0 {
        some.text(format!("… and {} (--full)", counted(hidden as u64, "more caveat")));
    }
    let all = Section::page("What cannot be concluded").with_notes(limits.iter().map(Note::info));
    let method = Section::page("What the method makes of the figures")
        .with_notes(audit.method.iter().map(Note::warning));
    let mut sections = vec![head, brief, some, all, method];
    sections.extend(audit.checklist.as_ref().map(checklist::section));
    sections
}
