//! An audit as a document: what a result supports, what cannot be concluded from it, and its checklist.

#[cfg(test)]
mod tests;

use serde_json::json;

use super::parts::checklist;
use crate::analysis::{Audit, Status};
use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Note, Section};
use crate::units::counted;

/// Version of the format of [`json`].
const SCHEMA: u32 = 1;
/// Characters of a line of a screen that lists limits.
const LINE: usize = 60;

/// The audits as JSON.
pub fn json(audits: &[Audit]) -> serde_json::Result<String> {
    indented(&json!({ "schema": SCHEMA, "audits": audits }))
}

/// The audits as a document. No screen cuts its title: without its conditions a sentence would say more than the data.
pub fn document(audits: &[Audit]) -> Document {
    if let [only] = audits {
        let (word, sentence) = verdict(only);
        return Document::new(format!("{word}: {sentence}"))
            .about(format!("Audit of {}", only.name))
            .with([in_brief(only)])
            .with(in_full(only));
    }
    let title = format!("AUDITED: {}", counted(audits.len() as u64, "result"));
    let each = audits.iter().flat_map(|audit| [among_several(audit)].into_iter().chain(in_full(audit)));
    let more = Section::continued(Level::Brief).text(["Whole sentences, reasons and cures: --full"]);
    Document::new(title).with(each).with([more])
}

/// The strongest sentence, or why there is none, under the word for it.
fn verdict(audit: &Audit) -> (&'static str, &str) {
    match (&audit.strongest_sentence, audit.cannot_conclude.first()) {
        (Some(sentence), _) => ("SUPPORTED", sentence),
        (None, Some(limit)) => ("UNSUPPORTED", limit),
        (None, None) => ("UNSUPPORTED", "no answer came"),
    }
}

/// Returns what a screen says below the sentence of the one result.
fn in_brief(audit: &Audit) -> Section {
    let limits = audit.cannot_conclude.iter();
    let short = limits.map(|limit| limit.split(": ").next().unwrap_or_default());
    let standings = [Status::Met, Status::Missed, Status::Undecided];
    let items = audit.checklist.iter().flat_map(|checklist| {
        standings
            .map(|standing| (standing.choose(checklist::WORDS), in_lines(checklist::names(checklist, standing), ", ")))
    });
    let caveats = audit.method.len() as u64;
    let of_method = (caveats > 0).then(|| format!(", and {} about its method", counted(caveats, "caveat")));
    Section::continued(Level::Brief)
        .facts("no conclusion", in_lines(short, "; "))
        .named(items)
        .text([format!("Reasons and cures{}: --full", of_method.unwrap_or_default())])
}

/// The sentence of one result of several, and how many items it meets.
fn among_several(audit: &Audit) -> Section {
    let (word, sentence) = verdict(audit);
    Section::summary(audit.name.clone())
        .fact(word.to_lowercase(), sentence)
        .facts("items met", audit.checklist.as_ref().map(checklist::met))
}

/// Returns what reports with room for it say of a result.
fn in_full(audit: &Audit) -> impl Iterator<Item = Section> {
    let limits = audit.cannot_conclude.iter().map(Note::info);
    let all = Section::page("What cannot be concluded").notes(limits);
    let method = Section::page("What the method makes of the figures").notes(audit.method.iter().map(Note::warning));
    [all, method].into_iter().chain(audit.checklist.as_ref().map(checklist::section))
}

/// Words one behind the other, in lines that a screen has room for.
fn in_lines<'a>(words: impl IntoIterator<Item = &'a str>, between: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + between.len() + word.chars().count() <= LINE => {
                line.push_str(between);
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
