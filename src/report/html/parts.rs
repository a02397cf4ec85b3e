//! What pages are made of: facts, notes, tables, figures with their tables.

use maud::{Markup, html};

use crate::analysis::Status;
use crate::experiment::compare::{Difference, GateJudgement, Role};
use crate::experiment::{Diagnosis, Symptom};
use crate::report::diagnosis::{Detail, KEPT};
use crate::report::printable;

/// Characters from which a cell is broken into lines, rather than make its table wider.
const LONG_CELL: usize = 48;
/// The same of the first column, which stays where it is when the others are moved sideways.
const LONG_NAME: usize = 24;

/// A table in the making; the first column names its row and is to the left, the others are to the right.
pub(super) struct Table {
    caption: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows; what it shows is said to who has it read out, and the page around it to who sees it.
    pub(super) fn new<'a>(caption: &str, header: impl IntoIterator<Item = &'a str>) -> Self {
        let header = header.into_iter().map(str::to_owned).collect();
        Self { caption: caption.to_owned(), header, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn draw(&self) -> Markup {
        let length = |cell: &str| (cell.chars().count() > LONG_CELL).then_some("wide");
        let name = |cell: &str| (cell.chars().count() > LONG_NAME).then_some("long");
        let rows = html! {
            @for row in &self.rows { tr {
                @for (place, cell) in row.iter().enumerate() {
                    @if place == 0 { th scope="row" class=[name(cell)] { (printable(cell)) } }
                    @else { td class=[length(cell)] { (printable(cell)) } }
                }
            } }
        };
        framed(&self.caption, self.header.iter().map(String::as_str), &rows)
    }
}

/// A table of these rows, which is moved sideways where the page is too narrow for it.
pub(super) fn framed<'a>(caption: &str, header: impl Iterator<Item = &'a str>, rows: &Markup) -> Markup {
    let caption = printable(caption);
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr {
                    @for title in header {
                        @if title.is_empty() { td {} } @else { th scope="col" { (printable(title)) } }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
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

/// A key figure.
pub(super) struct Card {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    /// What belongs to it: its interval, its mark, what it is held against.
    pub(super) below: Vec<String>,
}

/// Key figures beside one another.
pub(super) fn cards(cards: &[Card]) -> Markup {
    html! {
        div.cards { @for card in cards {
            div.card {
                div.name { (card.name) }
                div.value { (card.value) @if !card.unit.is_empty() { span.unit { " " (card.unit) } } }
                @for line in &card.below { div.below { (printable(line)) } }
            }
        } }
    }
}

/// Facts by name.
pub(super) fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl { @for (name, fact) in facts { dt { (name) } dd { (printable(fact)) } } }
    }
}

/// A baseline, what is held against it, and where they differ.
pub(super) fn held_against(
    sides: impl Iterator<Item = String>,
    differences: &[Difference],
) -> Vec<(&'static str, String)> {
    let names = std::iter::once("baseline").chain(std::iter::repeat("against"));
    let difference = |difference: &Difference| {
        let name = if difference.role == Role::Varied { "on purpose" } else { "differs" };
        let values = difference.values.iter().map(|value| value.as_deref().unwrap_or("not said"));
        (name, format!("{}: {}", difference.fact, values.collect::<Vec<_>>().join(" → ")))
    };
    names.zip(sides).chain(differences.iter().map(difference)).collect()
}

/// What became of a demand.
pub(super) fn judgement(gate: &GateJudgement) -> Markup {
    let (class, sign) = match gate.status {
        Status::Met => ("good", "✓ "),
        Status::Missed => ("bad", "✗ "),
        Status::Unresolvable => ("bad", "? "),
    };
    html! { p { span class=(class) { (sign) } (printable(&gate.line)) } }
}

/// A symptom with its regime, what would confirm it, and what to try first, as an entry of a list.
pub(super) fn one_symptom(seen: &Symptom, detail: Detail) -> Markup {
    html! {
        li {
            p.sentence { (printable(&seen.symptom)) }
            p.sentence { strong { (printable(&seen.likely)) } }
            @if detail == Detail::WithCures {
                p.muted { "Confirmed by: " (printable(&seen.confirm)) }
                p { "First: " (printable(&seen.first_response)) }
            }
        }
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
    let detail = Detail::of(diagnosis.reservation.as_deref(), diagnosis.promises_kept());
    html! {
        @if let Some(reservation) = &diagnosis.reservation { p.bad { (printable(reservation)) } }
        @if detail == Detail::Regime { p { (KEPT) } }
        ul {
            @for seen in &diagnosis.symptoms {
                (one_symptom(seen, detail))
            }
        }
    }
}
