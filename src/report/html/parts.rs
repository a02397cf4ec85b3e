//! What pages are made of: facts, notes, tables, figures with their tables.

use maud::{Markup, html};

use crate::experiment::Diagnosis;
use crate::report::printable;

/// A table in the making; the first column is to the left, the others to the right.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self { header: header.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn draw(&self) -> Markup {
        html! {
            div.scroll {
                table {
                    thead { tr { @for title in &self.header { th scope="col" { (printable(title)) } } } }
                    tbody { @for row in &self.rows { tr { @for cell in row { td { (printable(cell)) } } } } }
                }
            }
        }
    }
}

/// A picture as wide as the page, under a heading of its own; where the page is narrow it is moved sideways.
pub(super) fn wide_figure(hint: &str, picture: &Markup, behind: Option<&Table>) -> Markup {
    figure("", hint, &html! { div.scroll.wide { (picture) } }, behind)
}

/// A picture with its title, what to look for in it, and the figures behind it.
pub(super) fn figure(title: &str, hint: &str, picture: &Markup, behind: Option<&Table>) -> Markup {
    html! {
        figure {
            figcaption { @if !title.is_empty() { (printable(title)) } @if !hint.is_empty() { span { (printable(hint)) } } }
            (picture)
            @if let Some(table) = behind { details { summary { "Figures" } (table.draw()) } }
        }
    }
}

/// Facts by name.
pub(super) fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl { @for (name, fact) in facts { dt { (name) } dd { (printable(fact)) } } }
    }
}

/// Sentences under one another; nothing where there are none.
pub(super) fn notes<S: AsRef<str>>(notes: &[S]) -> Markup {
    html! {
        @if !notes.is_empty() { ul.notes { @for note in notes { li { (printable(note.as_ref())) } } } }
    }
}

/// What was seen, what it points to, what would confirm it, and what to try first.
pub(super) fn symptoms(diagnosis: &Diagnosis) -> Markup {
    html! {
        @if let Some(reservation) = &diagnosis.reservation { p.bad { (printable(reservation)) } }
        ul {
            @for seen in &diagnosis.symptoms {
                li {
                    p.sentence { (printable(&seen.symptom)) }
                    p.sentence { strong { (printable(&seen.likely)) } }
                    p.muted { "Confirmed by: " (printable(&seen.confirm)) }
                    p { "First: " (printable(&seen.first_response)) }
                }
            }
        }
    }
}

/// Whether figures can be trusted, and what is against it.
pub(super) fn verdict(valid: bool, reasons: &[String]) -> Markup {
    html! {
        @if valid { p { span.good { "✓ VALID" } } } @else { p { span.bad { "✗ INVALID" } } (notes(reasons)) }
    }
}
