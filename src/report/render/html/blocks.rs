//! The blocks of a page: cards, facts, tables, notes, pictures with their figures.

use maud::{Markup, html};

use crate::report::chart::Width;
use crate::report::document::{Align, Block, Chart, KeyFigure, NamedFact, Note, Table, TableCell, TableRow, Tone};
use crate::report::render::printable::printable;

/// Characters from which a cell is broken into lines, rather than make its table wider.
const LONG_CELL: usize = 48;
/// Characters from which a cell of the first column is broken into lines. That column stays where it is when the others
/// are moved sideways.
const LONG_NAME: usize = 24;

pub(super) fn draw(blocks: &[Block]) -> Markup {
    // Charts of a column that follow each other stand side by side.
    let runs = blocks.chunk_by(|before, after| is_column(before) && is_column(after));
    html! {
        @for run in runs {
            @if is_column(&run[0]) { div.charts { @for block in run { (one(block)) } } }
            @else { @for block in run { (one(block)) } }
        }
    }
}

fn is_column(block: &Block) -> bool {
    matches!(block, Block::Chart(chart) if chart.plot.width == Width::Column)
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Figures(all) => cards(all),
        Block::Facts(all) => facts(all),
        Block::Table(all) => table(all),
        Block::Notes(all) => notes(all),
        Block::Chart(all) => chart(all),
        Block::Text(text) => html! { p { (printable(text)) } },
        Block::Remark(text) => html! { p.muted { (printable(text)) } },
        Block::Command(text) => html! { pre.command { (text) } },
        Block::Attachment { title, text } => {
            html! { details { summary { (printable(title)) } pre { (text) } } }
        }
    }
}

/// The class of a tone in the page's style.
pub(super) const fn class(tone: Tone) -> &'static str {
    tone.choose(["strong", "good", "bad"])
}

/// Shows the figure that answers, with what it is of and how sure it is. It is pale where it is not to be trusted.
pub(super) fn headline(figure: &KeyFigure, doubtful: bool) -> Markup {
    html! {
        div class={ "headline" @if doubtful { " muted" } } {
            div.value { (printable(&figure.value)) span.unit { (figure.space()) (printable(&figure.unit)) } }
            div { (printable(&figure.name)) @for line in &figure.below { span.muted { " · " (printable(line)) } } }
        }
    }
}

fn cards(figures: &[KeyFigure]) -> Markup {
    html! {
        div.cards { @for figure in figures {
            div.card {
                div.name { (printable(&figure.name)) }
                div.value {
                    (printable(&figure.value))
                    @if !figure.unit.is_empty() { span.unit { (figure.space()) (printable(&figure.unit)) } }
                }
                @for line in &figure.below { div.below { (printable(line)) } }
            }
        } }
    }
}

fn facts(facts: &[NamedFact]) -> Markup {
    html! {
        dl { @for fact in facts {
            dt { (printable(&fact.name)) }
            @for value in &fact.values { dd { (printable(&value.in_words())) } }
        } }
    }
}

/// A table that is moved sideways where the page is too narrow for it.
fn table(table: &Table) -> Markup {
    let caption = printable(&table.caption);
    let side = |column: usize, rest: Option<&'static str>| {
        let left = column > 0 && table.columns.get(column).is_some_and(|column| column.align == Align::Left);
        [left.then_some("left"), rest]
    };
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr {
                    @for (place, column) in table.columns.iter().enumerate() {
                        @let [left, _] = side(place, None);
                        @if column.title.is_empty() { td {} }
                        @else { th scope="col" class=[left] { (printable(&column.title)) } }
                    }
                } }
                tbody { @for row in &table.rows { (table_row(row, &side)) } }
            }
        }
        @if !table.notes.is_empty() {
            ul.signs { @for (mark, meaning) in &table.notes {
                li.muted { span.sign { (printable(mark)) " " } (printable(meaning)) }
            } }
        }
    }
}

fn table_row(row: &TableRow, side: &impl Fn(usize, Option<&'static str>) -> [Option<&'static str>; 2]) -> Markup {
    let long = |cell: &TableCell, most: usize, class| (cell.text.chars().count() > most).then_some(class);
    html! {
        tr { @for (place, cell) in row.cells.iter().enumerate() {
            @if place == 0 {
                th scope="row" class=[long(cell, LONG_NAME, "long")] { (printable(&cell.text)) }
            } @else {
                @let classes: Vec<_> = side(place, long(cell, LONG_CELL, "wide")).into_iter().flatten().collect();
                td class=[(!classes.is_empty()).then(|| classes.join(" "))] {
                    (printable(&cell.text))
                    @if let Some(interval) = &cell.interval { div.below { (printable(interval)) } }
                }
            }
        } }
    }
}

fn notes(notes: &[Note]) -> Markup {
    html! {
        ul.signs { @for note in notes {
            li class=[Some(note.kind.tone()).filter(|tone| *tone != Tone::Neutral).map(class)] {
                span.sign { (note.kind.sign()) " " } (printable(&note.sentence))
                @for (label, text) in note.follow_ups() {
                    p.after { span.muted { (label) " " } (printable(&text)) }
                }
            }
        } }
    }
}

/// Draws a picture with its title, what to look for, and the figures behind it.
fn chart(chart: &Chart) -> Markup {
    html! {
        figure {
            figcaption {
                @if !chart.title.is_empty() { (printable(&chart.title)) }
                @if !chart.hint.is_empty() { span { (printable(&chart.hint)) } }
            }
            @match chart.plot.width {
                Width::Column => (chart.plot.draw()),
                // Where the page is narrow it is moved sideways.
                Width::Page => div.scroll.wide tabindex="0" role="group" aria-label="a wide picture, to be moved \
                    sideways" {
                    (chart.plot.draw())
                },
            }
            @if let Some(behind) = &chart.behind { details { summary { "Figures" } (table(behind)) } }
        }
    }
}
