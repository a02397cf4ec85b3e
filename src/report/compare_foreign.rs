//! Runs of several tools against a baseline as a person reads them.

use super::compare::{COLUMNS, cells, differences};
use super::data::json::indented;
use super::document::mark;
use super::foreign::NO_VERDICT;
use super::grid::{ALWAYS, Grid};
use super::page;
use super::page::{Page, Style, Tone};
use crate::analysis::wording::counted;
use crate::experiment::compare::{AgainstForeign, AnySideDescription, ComparedForeign};

/// What a reader must know of every such comparison.
const ADVICE: [&str; 3] = [
    "latencies of other tools are of completed requests of the whole run, its beginning and its end included; those of Skyline \
     of the requests of its window, those that were cut off as at least so long",
    "rates are not compared: theirs are totals over the whole run, ours those of a window in which load keeps coming",
    "one run a side cannot tell a small difference: its intervals know what varies inside a run, not between runs",
];

/// The comparison as indented JSON with a line break at its end.
pub fn compared_foreign_json(compared: &ComparedForeign) -> serde_json::Result<String> {
    indented(compared)
}

/// The comparison as text.
#[must_use]
pub fn compared_foreign_text(compared: &ComparedForeign, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(
        Tone::Strong,
        &format!("Compared: {} of several tools", counted(compared.sides.len() as u64, "run")),
    );
    for (place, side) in compared.sides.iter().enumerate() {
        let label = if place == 0 { "  baseline   " } else { "  against    " };
        page.entry(Tone::Normal, label, &in_words(side));
    }
    differences(&mut page, &compared.differences);
    for unchecked in &compared.unchecked {
        let text = format!("{}: not told by {}", unchecked.fact, unchecked.missing_in.join(", "));
        page.entry(Tone::Normal, "  unchecked  ", &text);
    }
    for side in &compared.sides {
        for reservation in &side.reservations {
            page.entry(Tone::Normal, &format!("  ! {}: ", side.name), reservation);
        }
    }
    for against in &compared.against {
        against_baseline(&mut page, against);
    }
    page.heading("To know of such comparisons");
    for line in ADVICE {
        page.entry(Tone::Faint, "  → ", line);
    }
    page.finish()
}

fn in_words(side: &AnySideDescription) -> String {
    let verdict = match side.valid {
        Some(true) => "",
        Some(false) => "; INVALID",
        None => NO_VERDICT,
    };
    format!("{}: {}, {} completed{verdict}", side.name, side.tool, counted(side.completed, "request"))
}

fn against_baseline(page: &mut Page, against: &AgainstForeign) {
    page.heading(&format!("{} against the baseline: one run a side", against.side));
    let mut grid = Grid::new(&[&COLUMNS[..], &[("", ALWAYS)]].concat());
    for row in &against.rows {
        grid.row(cells(row, false));
    }
    page.grid(grid);
    for (names, of) in [(&against.only_baseline, "the baseline"), (&against.only_here, &against.side)] {
        if !names.is_empty() {
            page.entry(Tone::Normal, &format!("  only {of} has "), &names.join(", "));
        }
    }
    let levels = || against.rows.iter().flat_map(|row| [row.baseline, row.other]);
    for (sign, text) in [
        ("*", "too few samples in a run for this percentile"),
        ("~", "indicative: in a run, fewer than ten samples lie above it"),
    ] {
        if levels().any(|level| mark(level.mark) == sign) {
            page.entry(Tone::Faint, &format!("  {sign} "), text);
        }
    }
    page::judgements(page, against.gates.iter().map(|gate| (gate.status, gate.line.as_str())));
}
