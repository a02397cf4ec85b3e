//! Columns of text: the first to the left, the others to the right.

use comfy_table::{CellAlignment, Table};

use super::page::printable;

/// Rows under a header, aligned; two spaces of indent and two between columns.
#[derive(Debug)]
pub(crate) struct Grid {
    table: Table,
}

impl Grid {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(header);
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((2, 0));
            column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        Self { table }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.table.add_row(cells.map(|cell| printable(&cell)));
    }

    /// The header and the rows.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.table.lines().map(|line| line.trim_end().to_owned())
    }
}
