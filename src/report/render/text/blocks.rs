//! A document as text: its verdict first, then its sections up to the extent asked for. Tables have columns
//! that fit the width: names to the left, figures to the right.

use super::brief::{brief, fact_in_brief, note_in_brief};
use super::grid::drawn;
use super::lines::{Style, TextLines, Weight, wrap};
use crate::report::document::{
    Block, Chart, Document, FIRST_COLUMN, KeyFigure, Level, NamedFact, Note, NoteKind, Section, Table,
};
use crate::report::render::bars;
use crate::report::render::printable::printable;
use crate::units::fitted;

/// Part of a document that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Part that fits a screen.
    Summary,
    /// Whole of it, but for what only explains it.
    Full,
}

impl Extent {
    fn shows(self, level: Level) -> bool {
        match self {
            Self::Summary => level <= Level::Summary,
            Self::Full => (Level::Summary..=Level::Detail).contains(&level),
        }
    }
}

/// Most lines of a screen that say the verdict.
const VERDICT_LINES: usize = 3;
/// Demands of a section that a screen has room for, and other notes.
const DEMANDS: usize = 4;
const NOTES: usize = 3;

/// The document as text.
pub fn text(document: &Document, style: Style, extent: Extent) -> String {
    let mut lines = TextLines::new(style);
    match &document.verdict {
        Some(verdict) => {
            let words = cut_to(&verdict.in_words(), VERDICT_LINES, style.width, extent);
            lines.wrapped(verdict.tone.into(), "", &words);
        }
        None => lines.wrapped(Weight::Strong, "", &document.title),
    }
    let title = document.verdict.as_ref().map(|_| document.title.as_str());
    let about: Vec<&str> = match extent {
        Extent::Summary => title.into_iter().chain(document.about.as_deref()).collect(),
        Extent::Full => title.into_iter().chain(document.about_and_when()).collect(),
    };
    if !about.is_empty() {
        lines.wrapped(Weight::Normal, "  ", &about.join(" · "));
    }
    let mut last = None;
    for section in document.sections.iter().filter(|section| extent.shows(section.level)) {
        last = draw(&mut lines, section, extent, last);
    }
    lines.out
}

/// Cuts a text to at most so many lines on a screen. It stays longer where it has no such form.
fn cut_to(text: &str, most: usize, width: usize, extent: Extent) -> String {
    match extent {
        Extent::Summary => brief(&printable(text), most, width),
        Extent::Full => text.to_owned(),
    }
}

/// Draws a section behind a block; its own last one.
fn draw<'a>(lines: &mut TextLines, section: &'a Section, extent: Extent, last: Option<&'a Block>) -> Option<&'a Block> {
    let shown: Vec<&Block> = section.blocks.iter().filter(|block| is_shown(block, extent)).collect();
    let mut heading = section.heading.as_deref();
    let mut corner = None;
    if let (Extent::Summary, Some(first)) = (extent, shown.first()) {
        // The signs of notes say what they are, and the corner of a table has room for its name.
        if shown.iter().all(|block| matches!(block, Block::Notes(_))) {
            heading = None;
            if matches!(last, Some(Block::Table(_))) {
                lines.blank();
            }
        }
        corner = heading.and_then(|heading| corner_of(heading, first));
        if corner.is_some() {
            heading = None;
            lines.blank();
        }
    }
    let mut before: Option<&Block> = None;
    for block in shown {
        if let Some(heading) = heading.take() {
            lines.blank();
            let heading = cut_to(heading, 1, lines.style.width, extent);
            lines.wrapped(Weight::Strong, "", &heading);
        } else if matches!((before, block), (Some(Block::Table(_)), Block::Table(_))) {
            lines.blank();
        }
        before = Some(block);
        match block {
            Block::Figures(all) => figures(lines, all, extent),
            Block::Facts(all) => facts(lines, all, extent),
            Block::Table(all) => table(lines, all, extent, corner.take()),
            Block::Notes(all) if extent == Extent::Full => all.iter().for_each(|one| note(lines, one)),
            Block::Notes(all) => notes_in_brief(lines, all),
            Block::Chart(Chart { bars: Some(chart), .. }) => {
                lines.wrapped(Weight::Normal, "  ", &chart.heading);
                for row in bars::rows(chart) {
                    lines.line(Weight::Normal, &format!("  {row}"));
                }
            }
            Block::Text(text) => {
                let text = cut_to(text, 2, lines.style.width - 2, extent);
                lines.wrapped(Weight::Normal, "  ", &text);
            }
            Block::Remark(text) => lines.wrapped(Weight::Faint, "  ", text),
            Block::Command(text) => {
                text.lines().for_each(|line| lines.line(Weight::Normal, &format!("  {line}")));
            }
            Block::Chart(_) | Block::Attachment { .. } => {}
        }
    }
    before.or(last)
}

/// Whether anything of a block is shown.
fn is_shown(block: &Block, extent: Extent) -> bool {
    match block {
        Block::Table(table) => table.rows.iter().any(|row| extent.shows(row.level)),
        Block::Remark(_) => extent == Extent::Full,
        block => block.has_text(),
    }
}

/// The name of a table where its first column has none. It is its section's heading up to the first colon or semicolon.
fn corner_of<'a>(heading: &'a str, first: &Block) -> Option<&'a str> {
    let Block::Table(table) = first else { return None };
    let name = heading.split("; ").next()?.split(": ").next()?;
    let is_free = table.columns.first().is_some_and(|column| column.title.is_empty());
    (is_free && name.chars().count() <= FIRST_COLUMN).then_some(name)
}

/// Key figures in one line: `requests completed 9.98/s · goodput 9.90/s`.
fn figures(lines: &mut TextLines, figures: &[KeyFigure], extent: Extent) {
    let shown = figures.iter().filter(|figure| !figure.card_only).map(|figure| {
        let (KeyFigure { name, value, unit, below, .. }, space) = (figure, figure.space());
        let has_more = extent == Extent::Full && !below.is_empty();
        let below = if has_more { format!(" ({})", below.join(", ")) } else { String::new() };
        format!("{name} {value}{space}{unit}{below}")
    });
    lines.wrapped(Weight::Normal, "  ", &shown.collect::<Vec<_>>().join(" · "));
}

/// Facts under one another, their names as wide as the widest.
fn facts(lines: &mut TextLines, facts: &[NamedFact], extent: Extent) {
    let widest = facts.iter().map(|fact| fact.name.chars().count()).max().unwrap_or(0);
    for fact in facts {
        let mut name = fact.name.as_str();
        for value in &fact.values {
            let text = match extent {
                Extent::Summary => {
                    let room = lines.style.width.saturating_sub(widest + 4).max(1);
                    ended(&fact_in_brief(&printable(&value.in_words()), 1, room), room)
                }
                Extent::Full => value.in_words(),
            };
            lines.wrapped(Weight::Normal, &format!("  {name:<widest$}  "), &text);
            name = "";
        }
    }
}

/// A fact that ends where a screen has no more room for it.
fn ended(fact: &str, room: usize) -> String {
    match wrap(fact, room).as_slice() {
        [first, second, _, ..] => format!("{first} {}", fitted(&format!("{second} …"), room)),
        _ => fact.to_owned(),
    }
}

/// A table in columns that fit the width, and what its marks mean.
fn table(lines: &mut TextLines, table: &Table, extent: Extent, corner: Option<&str>) {
    let drawn = drawn(table, |level| extent.shows(level), corner, lines.style.width);
    for (weight, line) in &drawn {
        lines.line(*weight, line);
    }
    let left_out = table.rows.iter().filter(|row| !extent.shows(row.level)).count();
    if let Some(row_name) = table.row_name.filter(|_| left_out > 0) {
        more(lines, left_out, row_name);
    }
    // A mark of a column or row that is left out needs no explanation.
    let is_drawn = |mark: &str| drawn.iter().any(|(_, line)| line.contains(mark));
    let mut notes: Vec<(String, String)> = Vec::new();
    for (mark, meaning) in table.notes.iter().filter(|(mark, _)| is_drawn(mark)) {
        let meaning = cut_to(meaning, 1, lines.style.width.saturating_sub(mark.chars().count() + 3), extent);
        match notes.last_mut().filter(|(_, before)| *before == meaning) {
            Some((marks, _)) => *marks = format!("{marks} {mark}"),
            None => notes.push((mark.clone(), meaning)),
        }
    }
    for (marks, meaning) in notes {
        lines.wrapped(Weight::Faint, &format!("  {marks} "), &meaning);
    }
}

fn note(lines: &mut TextLines, note: &Note) {
    lines.wrapped(note.kind.tone().into(), &format!("  {} ", note.kind.sign()), &note.sentence);
    for (label, text) in note.follow_ups() {
        lines.wrapped(Weight::Normal, &format!("    {label} "), &text);
    }
}

/// Shows the notes that a screen has room for, each in its shortest form. Demands come first, and of these the worst.
fn notes_in_brief(lines: &mut TextLines, notes: &[Note]) {
    let (mut demands, others): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(|note| note.kind.is_demand());
    demands.sort_by_key(|note| match note.kind {
        NoteKind::Demand(status) => status.choose([2, 0, 1]),
        _ => 2,
    });
    for (notes, room) in [(demands, DEMANDS), (others, NOTES)] {
        for note in notes.iter().take(room) {
            let (line, below) = note_in_brief(note, lines.style.width.saturating_sub(4));
            lines.wrapped(note.kind.tone().into(), &format!("  {} ", note.kind.sign()), &line);
            if let Some(cure) = below {
                lines.wrapped(Weight::Normal, "    → ", &cure);
            }
        }
        if notes.len() > room {
            more(lines, notes.len() - room, "");
        }
    }
}

/// Says how many of something a screen leaves out.
fn more(lines: &mut TextLines, number: usize, of: &str) {
    let of = match (of, number) {
        ("", _) => String::new(),
        (of, 1) => format!(" {of}"),
        (of, _) => format!(" {of}s"),
    };
    lines.wrapped(Weight::Faint, "  ", &format!("… and {number} more{of} (--full)"));
}
