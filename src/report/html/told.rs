//! Sections of the text report as parts of a page.

use maud::{Markup, html};

use crate::report::grid::Grid;
use crate::report::page::{Colour, Element, Page, Style, Tone};
use crate::report::printable;

use super::parts::Table;

/// A page has room for every column.
const STYLE: Style = Style { colour: Colour::Plain, width: 1_000 };

/// What a section says; nothing where it says nothing.
pub(super) fn told(section: impl FnOnce(&mut Page)) -> Markup {
    let mut page = Page::new(STYLE);
    section(&mut page);
    let mut blocks: Vec<Block> = Vec::new();
    for element in page.elements() {
        add(&mut blocks, element);
    }
    html! { @for block in &blocks { (block.draw()) } }
}

/// Elements that belong together.
enum Block {
    Heading(String),
    Paragraph(Tone, String),
    /// Texts behind names.
    Facts(Vec<(String, Vec<String>)>),
    /// Texts behind signs.
    Signs(Vec<(Tone, String, Vec<String>)>),
    Table(Table),
}

fn add(blocks: &mut Vec<Block>, element: Element) {
    match element {
        Element::Blank => {}
        Element::Heading(text) => blocks.push(Block::Heading(text)),
        Element::Line(tone, text) => blocks.push(Block::Paragraph(tone, text)),
        Element::Grid(grid) => {
            let caption = caption(blocks, &grid);
            blocks.push(Block::Table(table(&caption, &grid)));
        }
        Element::Entry { tone, label, text } => {
            let label = label.trim().trim_end_matches(':').to_owned();
            match (label.chars().next(), blocks.last_mut()) {
                (None, Some(Block::Facts(facts))) => {
                    if let Some((_, texts)) = facts.last_mut() {
                        texts.push(text);
                    }
                }
                (None, Some(Block::Signs(signs))) => {
                    if let Some((.., texts)) = signs.last_mut() {
                        texts.push(text);
                    }
                }
                (None, _) => blocks.push(Block::Paragraph(tone, text)),
                (Some(first), Some(Block::Facts(facts))) if first.is_alphanumeric() => {
                    facts.push((label, vec![text]));
                }
                (Some(first), _) if first.is_alphanumeric() => {
                    blocks.push(Block::Facts(vec![(label, vec![text])]));
                }
                (Some(_), Some(Block::Signs(signs))) => signs.push((tone, label, vec![text])),
                (Some(_), _) => blocks.push(Block::Signs(vec![(tone, label, vec![text])])),
            }
        }
    }
}

/// What a table shows: what the heading over it says, and its first title.
fn caption(blocks: &[Block], grid: &Grid) -> String {
    let heading = blocks.iter().rev().find_map(|block| match block {
        Block::Heading(text) => Some(text.as_str()),
        _ => None,
    });
    let first = grid.cells().first().and_then(|header| header.first()).filter(|title| !title.is_empty());
    [heading, first.map(String::as_str)].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

fn table(caption: &str, grid: &Grid) -> Table {
    let mut rows = grid.cells().iter();
    let mut table = Table::new(caption, rows.next().into_iter().flatten().map(String::as_str));
    for row in rows {
        table.row(row.iter().cloned());
    }
    table
}

impl Block {
    fn draw(&self) -> Markup {
        html! {
            @match self {
                Self::Heading(text) => h2 { (printable(text)) },
                Self::Paragraph(tone, text) => p class=(class(*tone)) { (printable(text)) },
                Self::Facts(facts) => dl {
                    @for (name, texts) in facts {
                        dt { (printable(name)) }
                        @for text in texts { dd { (printable(text)) } }
                    }
                },
                Self::Signs(signs) => ul.signs {
                    @for (tone, sign, texts) in signs {
                        li class=(class(*tone)) {
                            span.sign { (printable(sign)) " " }
                            (printable(&texts.join(" ")))
                        }
                    }
                },
                Self::Table(table) => (table.draw()),
            }
        }
    }
}

/// The class of a tone in the page's style.
pub(super) const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Normal => "",
        Tone::Strong => "strong",
        Tone::Faint => "muted",
        Tone::Good => "good",
        Tone::Bad => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::grid::ALWAYS;

    #[test]
    fn every_element_has_its_form() {
        let drawn = told(|page| {
            page.heading("Failures");
            page.entry(Tone::Normal, "      12  ", "reset: <b>");
            page.entry(Tone::Normal, "  load       ", "closed");
            page.entry(Tone::Normal, "             ", "each user waits");
            page.entry(Tone::Bad, "  ✗ ", "too late");
            page.entry(Tone::Faint, "    → ", "leave a core free");
            let mut grid = Grid::new(&[("", ALWAYS), ("p99", 1)]);
            grid.row(["chat".to_owned(), "5".to_owned()]);
            page.grid(grid);
        });
        assert_eq!(
            drawn.into_string(),
            "<h2>Failures</h2>\
             <dl><dt>12</dt><dd>reset: &lt;b&gt;</dd><dt>load</dt><dd>closed</dd><dd>each user waits</dd></dl>\
             <ul class=\"signs\"><li class=\"bad\"><span class=\"sign\">✗ </span>too late</li>\
             <li class=\"muted\"><span class=\"sign\">→ </span>leave a core free</li></ul>\
             <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Failures\"><table>\
             <caption>Failures</caption><thead><tr><td></td><th scope=\"col\">p99</th></tr></thead>\
             <tbody><tr><th scope=\"row\">chat</th><td>5</td></tr></tbody></table></div>"
        );
        assert_eq!(told(|_| {}).into_string(), "");
    }
}
