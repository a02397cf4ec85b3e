//! Columns of text that fit the page: the first to the left, the others to the right.

use comfy_table::{CellAlignment, Table};

use super::page::printable;
use crate::units::three_digits;

/// Stands where there is no figure.
pub(crate) const NOTHING: &str = "–";

/// Worth of a column that is never left out.
pub(crate) const ALWAYS: u8 = u8::MAX;

/// Characters that the first column keeps for as long as other columns can be left out instead.
const FIRST_COLUMN: usize = 24;

/// Spaces before every column.
const INDENT: usize = 2;

/// Rows under a header, aligned.
#[derive(Debug)]
pub(crate) struct Grid {
    /// What each column is worth: where the page is too narrow, those of least worth are left out.
    worth: Vec<u8>,
    /// The header and the rows.
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid with these columns, each a title and its worth.
    pub(crate) fn new(columns: &[(&str, u8)]) -> Self {
        let header = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        Self { worth: columns.iter().map(|(_, worth)| *worth).collect(), rows: vec![header] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// The header and the rows, cell by cell.
    pub(crate) fn cells(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The header and the rows, none longer than `width`.
    pub(crate) fn lines(mut self, width: usize) -> Vec<String> {
        self.narrow_first(width, FIRST_COLUMN);
        while self.width() > width {
            let least = self.worth.iter().enumerate().min_by_key(|(_, worth)| **worth);
            let Some((column, _)) = least.filter(|(_, worth)| **worth < ALWAYS) else { break };
            self.worth.remove(column);
            for row in &mut self.rows {
                row.remove(column);
            }
        }
        self.narrow_first(width, 1);
        let mut rows = self.rows.into_iter();
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(rows.next().unwrap_or_default());
        for row in rows {
            table.add_row(row);
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((INDENT as u16, 0));
            column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    fn width(&self) -> usize {
        (0..self.worth.len()).map(|column| INDENT + self.column_width(column)).sum()
    }

    fn column_width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }

    /// Cuts the first column until the grid fits, but to no fewer than `least` characters.
    fn narrow_first(&mut self, width: usize, least: usize) {
        let over = self.width().saturating_sub(width);
        let room = self.column_width(0).saturating_sub(over).max(least);
        for row in &mut self.rows {
            row[0] = cut(&row[0], room);
        }
    }
}

/// A text no longer than its room, in characters.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// A figure in a table: about three digits, at most three decimals, for what is finer is noise.
pub(crate) fn cell(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.001 => "<0.001".to_owned(),
        small if small < 0.1 => format!("{value:.3}"),
        _ => three_digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_finer_than_a_microsecond_is_noise() {
        let shown = [0.0, 0.000_414, 0.001, 0.012_34, 0.2, 7.5, 1_234.0].map(cell);
        assert_eq!(shown, ["0", "<0.001", "0.001", "0.012", "0.200", "7.50", "1,234"]);
    }

    #[test]
    fn a_narrow_page_loses_the_least_worth_and_cuts_names() {
        let lines = |width| {
            let mut grid = Grid::new(&[("", ALWAYS), ("mean", 2), ("p50", ALWAYS), ("p99.9", 1)]);
            let name = "a class with a very long name".to_owned();
            grid.row([name, "1,000".into(), "900".into(), "77,000".into()]);
            grid.lines(width)
        };
        assert_eq!(lines(51)[1], "  a class with a very long name  1,000  900  77,000");
        assert_eq!(lines(46)[1], "  a class with a very lon…  1,000  900  77,000");
        assert_eq!(lines(45)[1], "  a class with a very lon…  1,000  900");
        assert_eq!(lines(37), ["                            p50", "  a class with a very lon…  900"]);
        assert_eq!(lines(15)[1], "  a class…  900");
    }
}
