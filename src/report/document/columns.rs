//! Tables that are made column by column.

use super::table::{Align, NOTHING, Table, TableCell, TableColumn};

/// A table in the making: each column says what it holds of a row.
pub(crate) struct TableOf<R> {
    rows: Vec<R>,
    table: Table,
}

impl Table {
    /// A table of these rows, to which columns are added.
    pub(crate) fn of<R: Copy>(caption: impl Into<String>, rows: impl IntoIterator<Item = R>) -> TableOf<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let mut table = Self::new(caption, [] as [TableColumn; 0]);
        for _ in &rows {
            table.row([] as [TableCell; 0]);
        }
        TableOf { rows, table }
    }
}

impl<R: Copy> TableOf<R> {
    /// Adds a column: its title, perhaps with its worth, and its cell of a row.
    pub(crate) fn column<C: Into<TableCell>>(
        mut self,
        title: impl Into<TableColumn>,
        cell: impl Fn(R) -> C,
    ) -> Self {
        let mut column = title.into();
        if self.table.columns.is_empty() {
            column.align = Align::Left;
        }
        self.table.columns.push(column);
        for (of, row) in self.rows.iter().zip(&mut self.table.rows) {
            row.cells.push(cell(*of).into());
        }
        self
    }

    /// Adds a column if this holds.
    pub(crate) fn column_if<C: Into<TableCell>>(
        self,
        holds: bool,
        title: impl Into<TableColumn>,
        cell: impl Fn(R) -> C,
    ) -> Self {
        if holds { self.column(title, cell) } else { self }
    }

    /// Adds a column if a row has something in it.
    pub(crate) fn column_where_known<C: Into<TableCell>>(
        self,
        title: impl Into<TableColumn>,
        cell: impl Fn(R) -> C,
    ) -> Self {
        let is_known = self.rows.iter().any(|row| cell(*row).into().text != NOTHING);
        self.column_if(is_known, title, cell)
    }

    pub(crate) fn table(self) -> Table {
        self.table
    }
}
