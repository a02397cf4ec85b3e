//! A document as Markdown: the verdict as its heading, then sections, the details folded.

use std::fmt::Write as _;

use super::escape::{block as fenced, text};
use crate::report::document::{
    Align, Block, Chart, Document, KeyFigure, Level, NamedFact, Note, NoteKind, Section, Table, TableColumn,
};
use crate::report::render::bars;

/// The document as Markdown. What a server said stays text.
pub fn markdown(document: &Document) -> String {
    // Writing to a string cannot fail.
    let mut out = match &document.verdict {
        Some(verdict) => {
            let sign = verdict.tone.choose(["", "✅ ", "❌ "]);
            format!("## {sign}{}\n\n{}\n", text(&verdict.in_words()), text(&document.title))
        }
        None => format!("## {}\n", text(&document.title)),
    };
    let about: Vec<&str> = document.about_and_when().collect();
    if !about.is_empty() {
        let _ = writeln!(out, "\n{}", text(&about.join(" · ")));
    }
    let shown: Vec<&Section> = document.sections.iter().filter(|section| is_shown(section)).collect();
    for group in shown.chunk_by(|before, after| after.heading.is_none() && before.level == after.level) {
        let folded = group[0].level > Level::Page;
        let heading = group[0].heading.as_deref();
        match heading {
            _ if folded => {
                // Inside HTML a backslash escapes nothing; a backslash of the heading's own is a number by now.
                let summary = text(heading.unwrap_or("More")).replace('\\', "");
                let _ = writeln!(out, "\n<details><summary>{summary}</summary>");
            }
            Some(heading) => _ = writeln!(out, "\n### {}", text(heading)),
            None => {}
        }
        group.iter().flat_map(|section| &section.blocks).for_each(|block| draw(&mut out, block));
        if folded {
            out.push_str("\n</details>\n");
        }
    }
    out
}

/// Whether anything of a section is shown: pictures and what explains them are for pages.
fn is_shown(section: &Section) -> bool {
    (Level::Summary..Level::Reference).contains(&section.level) && section.blocks.iter().any(Block::has_text)
}

fn draw(out: &mut String, block: &Block) {
    match block {
        Block::Figures(all) => figures(out, all),
        Block::Facts(all) => {
            out.push('\n');
            for fact in all {
                facts(out, fact);
            }
        }
        Block::Table(all) => table(out, all),
        Block::Notes(all) => {
            out.push('\n');
            for one in all {
                note(out, one);
            }
        }
        Block::Text(line) | Block::Remark(line) => _ = writeln!(out, "\n{}", text(line)),
        Block::Command(line) => _ = write!(out, "\n{}", fenced("sh", line)),
        Block::Chart(Chart { bars: Some(chart), .. }) if !chart.bars.is_empty() => {
            let rows = bars::rows(chart).join("\n");
            let _ = write!(out, "\n{}\n\n{}", text(&chart.heading), fenced("text", &rows));
        }
        Block::Chart(_) | Block::Attachment { .. } => {}
    }
}

/// Key figures in one line.
fn figures(out: &mut String, figures: &[KeyFigure]) {
    let shown = figures.iter().filter(|figure| !figure.card_only).map(|figure| {
        let (KeyFigure { name, value, unit, below, .. }, space) = (figure, figure.space());
        let below = if below.is_empty() { String::new() } else { format!(" ({})", text(&below.join(", "))) };
        format!("{} **{}**{space}{}{below}", text(name), text(value), text(unit))
    });
    let shown: Vec<_> = shown.collect();
    if !shown.is_empty() {
        let _ = writeln!(out, "\n{}", shown.join(" · "));
    }
}

fn facts(out: &mut String, fact: &NamedFact) {
    let values: Vec<_> = fact.values.iter().map(|value| text(&value.in_words())).collect();
    let _ = writeln!(out, "- {}: {}", text(&fact.name), values.join("<br>"));
}

fn table(out: &mut String, table: &Table) {
    let titles: Vec<_> = table.columns.iter().map(|column| text(&column.title)).collect();
    let rules = table.columns.iter().map(|column: &TableColumn| match column.align {
        Align::Left => ":--|",
        Align::Right => "--:|",
    });
    let _ = writeln!(out, "\n| {} |\n|{}", titles.join(" | "), rules.collect::<String>());
    for row in &table.rows {
        let cells: Vec<_> = row.cells.iter().map(|cell| text(&cell.text)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    for (mark, meaning) in &table.notes {
        let _ = writeln!(out, "\n{} {}", text(mark), text(meaning));
    }
}

fn note(out: &mut String, note: &Note) {
    let sign = match note.kind {
        NoteKind::Demand(status) => status.choose(["✅ ", "❌ ", "❔ "]),
        NoteKind::Error => "❌ ",
        NoteKind::Warning => "⚠️ ",
        NoteKind::Advice => "→ ",
        NoteKind::Info => "",
    };
    let _ = write!(out, "- {sign}{}", text(&note.sentence));
    for (label, line) in note.follow_ups() {
        let _ = write!(out, "<br>{label} {}", text(&line));
    }
    out.push('\n');
}
