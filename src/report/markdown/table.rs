//! Tables in Markdown, and the signs that stand in them.

use std::fmt::Write as _;

use crate::analysis::Status;
use crate::report::render::escape::text;

/// A table whose rows are written as they come.
pub(super) struct Table<'o> {
    out: &'o mut String,
}

impl<'o> Table<'o> {
    /// All columns to the left.
    pub(super) fn of_words(out: &'o mut String, titles: &[&str]) -> Self {
        let _ = writeln!(out, "| {} |\n|{}", titles.join(" | "), ":--|".repeat(titles.len()));
        Self { out }
    }

    /// The first column to the left, the others to the right.
    pub(super) fn of_figures(out: &'o mut String, titles: &[&str]) -> Self {
        let _ = writeln!(out, "| {} |\n|:--|{}", titles.join(" | "), "--:|".repeat(titles.len() - 1));
        Self { out }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<_> = cells.into_iter().map(|cell| text(&cell)).collect();
        let _ = writeln!(self.out, "| {} |", cells.join(" | "));
    }
}

/// The sign of what became of a demand.
pub(super) const fn sign(status: Status) -> &'static str {
    match status {
        Status::Met => "✅",
        Status::Missed => "❌",
        Status::Unresolvable => "❔",
    }
}
