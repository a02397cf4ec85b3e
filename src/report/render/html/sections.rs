//! A document as a page: the verdict, then sections, of which those for who asks are folded.

use maud::{Markup, html};

use super::blocks::{self, class};
use super::shell;
use crate::report::document::{Document, Level, Section, Tone, VerdictLine};
use crate::report::render::printable::printable;

/// The document as a page.
pub fn html(document: &Document) -> String {
    let body = html! {
        h1 { (printable(&document.title)) }
        @if let Some(about) = &document.about { p.muted { (printable(about)) } }
        @if let Some(line) = &document.verdict { (verdict(line)) }
        @for group in groups(&document.sections) { (draw(group)) }
    };
    shell::page(&document.title, &body)
}

fn verdict(line: &VerdictLine) -> Markup {
    let sign = match line.tone {
        Tone::Neutral => "",
        Tone::Good => "✓ ",
        Tone::Bad => "✗ ",
    };
    html! {
        p.lead {
            span class=(class(line.tone)) { (sign) (printable(&line.word)) }
            @if !line.sentence.is_empty() { ": " (printable(&line.sentence)) }
        }
    }
}

/// Sections with those that continue them at the same level.
fn groups(sections: &[Section]) -> impl Iterator<Item = &[Section]> {
    sections.chunk_by(|before, after| after.heading.is_none() && before.level == after.level)
}

fn draw(group: &[Section]) -> Markup {
    let blocks = html! { @for section in group { (blocks::draw(&section.blocks)) } };
    match (group[0].level, group[0].heading.as_deref()) {
        (Level::Summary, heading) => html! {
            @if let Some(heading) = heading { h2 { (printable(heading)) } }
            (blocks)
        },
        (Level::Detail | Level::Reference, Some(heading)) => html! {
            details.section { summary { h2 { (printable(heading)) } } (blocks) }
        },
        (Level::Detail | Level::Reference, None) => html! {
            details.section { summary { "More" } (blocks) }
        },
    }
}
