//! Columns of text: the first to the left, the others to the right.

use comfy_table::{CellAlignment, Table};

use super::page::{Page, Tone, printable};

/// Longest text of a first column; a longer name is cut.
const NAME_LIMIT: usize = 24;

/// A column of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Shown on every page.
    Always(&'static str),
    /// Shown where the page is wide.
    Wide(&'static str),
}

/// Rows under a header, aligned; two spaces of indent and two between columns.
#[derive(Debug)]
pub(crate) struct Grid {
    table: Table,
    shown: Vec<bool>,
}

impl Grid {
    /// A grid for `page`, which leaves out what is for wide pages only where the page is narrow.
    pub(crate) fn new<const N: usize>(page: &Page, columns: [Column; N]) -> Self {
        let shown = columns.map(|column| page.is_wide() || matches!(column, Column::Always(_)));
        let header = columns.map(|(Column::Always(name) | Column::Wide(name))| name);
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(header.iter().zip(shown).filter(|(_, shown)| *shown).map(|(name, _)| *name));
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((2, 0));
            column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        Self { table, shown: shown.to_vec() }
    }

    /// Adds a row of as many cells as there are columns, shown or not.
    pub(crate) fn row<const N: usize>(&mut self, mut cells: [String; N]) {
        if let Some(name) = cells.first_mut()
            && let Some((cut, _)) = name.char_indices().nth(NAME_LIMIT)
        {
            name.truncate(cut);
            name.push('…');
        }
        let shown = cells.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        self.table.add_row(shown.map(|(cell, _)| printable(cell)));
    }

    /// Puts the grid on the page, its header faint.
    pub(crate) fn write(&self, page: &mut Page) {
        for (i, line) in self.table.lines().enumerate() {
            page.line(if i == 0 { Tone::Faint } else { Tone::Normal }, line.trim_end());
        }
    }
}
