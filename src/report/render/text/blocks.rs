//! A document as text: its verdict first, then its sections up to the extent asked for.

use super::columns;
use super::lines::{Style, TextLines, Weight};
use crate::report::document::{Block, Chart, Document, KeyFigure, Level, NamedFact, Note, Section, Table};
use crate::report::render::bars;

/// How much of a document is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What fits a screen.
    Summary,
    /// All of it, but for what only explains it.
    Full,
}

impl Extent {
    const fn level(self) -> Level {
        match self {
            Self::Summary => Level::Summary,
            Self::Full => Level::Detail,
        }
    }
}

/// The document as text.
pub fn text(document: &Document, style: Style, extent: Extent) -> String {
    let mut lines = TextLines::new(style);
    match &document.verdict {
        Some(verdict) => lines.wrapped(verdict.tone.into(), "", &verdict.in_words()),
        None => lines.wrapped(Weight::Strong, "", &document.title),
    }
    let title = document.verdict.as_ref().map(|_| document.title.as_str());
    let about: Vec<_> = title.into_iter().chain(document.about.as_deref()).collect();
    if !about.is_empty() {
        lines.wrapped(Weight::Normal, "  ", &about.join(" · "));
    }
    for section in document.sections.iter().filter(|section| section.level <= extent.level()) {
        draw(&mut lines, section, extent);
    }
    lines.out
}

fn draw(lines: &mut TextLines, section: &Section, extent: Extent) {
    let mut heading = section.heading.as_deref();
    let mut before: Option<&Block> = None;
    for block in section.blocks.iter().filter(|block| is_shown(block, extent)) {
        if let Some(heading) = heading.take() {
            lines.blank();
            lines.line(Weight::Strong, heading);
        } else if matches!((before, block), (Some(Block::Table(_)), Block::Table(_))) {
            lines.blank();
        }
        before = Some(block);
        match block {
            Block::Figures(all) => figures(lines, all, extent),
            Block::Facts(all) => facts(lines, all),
            Block::Table(all) => table(lines, all, extent),
            Block::Notes(all) => all.iter().for_each(|one| note(lines, one)),
            Block::Chart(Chart { bars: Some(chart), .. }) => {
                lines.wrapped(Weight::Normal, "  ", &chart.heading);
                for row in bars::rows(chart) {
                    lines.line(Weight::Normal, &format!("  {row}"));
                }
            }
            Block::Text(text) => lines.wrapped(Weight::Normal, "  ", text),
            Block::Remark(text) => lines.wrapped(Weight::Faint, "  ", text),
            Block::Command(text) => {
                text.lines().for_each(|line| lines.line(Weight::Normal, &format!("  {line}")));
            }
            Block::Chart(_) | Block::Attachment { .. } => {}
        }
    }
}

/// Whether anything of a block is shown.
fn is_shown(block: &Block, extent: Extent) -> bool {
    let level = extent.level();
    match block {
        Block::Figures(figures) => figures.iter().any(|figure| !figure.card_only),
        Block::Table(table) => table.rows.iter().any(|row| row.level <= level),
        Block::Chart(chart) => chart.bars.as_ref().is_some_and(|chart| !chart.bars.is_empty()),
        Block::Attachment { .. } => false,
        Block::Facts(_) | Block::Notes(_) | Block::Text(_) | Block::Remark(_) | Block::Command(_) => true,
    }
}

/// Key figures in one line: `requests completed 9.98/s · goodput 9.90/s`.
fn figures(lines: &mut TextLines, figures: &[KeyFigure], extent: Extent) {
    let shown = figures.iter().filter(|figure| !figure.card_only).map(|figure| {
        let KeyFigure { name, value, unit, below, .. } = figure;
        let space = figure.space();
        let below = match extent {
            Extent::Full if !below.is_empty() => format!(" ({})", below.join(", ")),
            Extent::Full | Extent::Summary => String::new(),
        };
        format!("{name} {value}{space}{unit}{below}")
    });
    lines.wrapped(Weight::Normal, "  ", &shown.collect::<Vec<_>>().join(" · "));
}

/// Facts under one another, their names as wide as the widest.
fn facts(lines: &mut TextLines, facts: &[NamedFact]) {
    let widest = facts.iter().map(|fact| fact.name.chars().count()).max().unwrap_or(0);
    for fact in facts {
        let mut name = fact.name.as_str();
        for value in &fact.values {
            lines.wrapped(Weight::Normal, &format!("  {name:<widest$}  "), &value.in_words());
            name = "";
        }
    }
}

fn table(lines: &mut TextLines, table: &Table, extent: Extent) {
    let drawn = columns::draw(lines, table, extent.level());
    // A mark of a column or row that is left out needs no explanation.
    let is_drawn = |mark: &str| drawn.iter().any(|line| line.contains(mark));
    for (mark, meaning) in table.notes.iter().filter(|(mark, _)| is_drawn(mark)) {
        lines.wrapped(Weight::Faint, &format!("  {mark} "), meaning);
    }
}

fn note(lines: &mut TextLines, note: &Note) {
    lines.wrapped(note.kind.tone().into(), &format!("  {} ", note.kind.sign()), &note.sentence);
    for (label, text) in note.follow_ups() {
        lines.wrapped(Weight::Normal, &format!("    {label} "), &text);
    }
}
