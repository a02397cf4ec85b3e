//! Columns of a table that fit the width: names to the left, figures to the right.

use super::lines::{Weight, wrap};
use crate::report::document::{ALWAYS, Align, FIRST_COLUMN, Level, Table};
use crate::report::render::printable::printable;
use crate::units::fitted;

/// Spaces before every column.
const INDENT: usize = 2;

/// Fewest characters of a last column of sentences, which wraps.
const SENTENCE: usize = 30;

/// Lines of a table's columns and rows at shown levels; none without rows.
pub(super) fn drawn(
    table: &Table,
    shows: impl Fn(Level) -> bool,
    corner: Option<&str>,
    width: usize,
) -> Vec<(Weight, String)> {
    let mut grid = Grid::new(table, shows);
    if let Some(corner) = corner {
        grid.rows[0][0] = printable(corner);
    }
    if grid.rows.len() == 1 {
        return Vec::new();
    }
    let untitled = grid.rows[0].iter().all(String::is_empty);
    let weights = std::iter::once(Weight::Faint).chain(std::iter::repeat(Weight::Normal));
    weights.zip(grid.lines(width)).skip(untitled.into()).collect()
}

/// The texts of a table. With them is what becomes of its columns where there is too little room.
struct Grid {
    columns: Vec<(Align, u8)>,
    /// The titles and the rows.
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn new(table: &Table, shows: impl Fn(Level) -> bool) -> Self {
        let places: Vec<usize> = (0..table.columns.len()).filter(|place| shows(table.columns[*place].level)).collect();
        let head = places.iter().map(|place| printable(&table.columns[*place].title)).collect();
        let rows = table.rows.iter().filter(|row| shows(row.level)).map(|row| {
            let text = |place: &usize| row.cells.get(*place).map_or("", |cell| cell.text.as_str());
            places.iter().map(|place| printable(text(place))).collect()
        });
        Self {
            columns: places.iter().map(|place| (table.columns[*place].align, table.columns[*place].worth)).collect(),
            rows: std::iter::once(head).chain(rows).collect(),
        }
    }

    /// The titles and the rows, none longer than `width` if that can be.
    fn lines(&mut self, width: usize) -> Vec<String> {
        self.narrow_first(width, FIRST_COLUMN);
        self.drop_columns(width);
        self.narrow_first(width, 1);
        let last = self.columns.len() - 1;
        let widths: Vec<usize> = (0..=last).map(|column| self.column_width(column)).collect();
        let before: usize = widths[..last].iter().map(|width| width + INDENT).sum();
        let sentence = self.is_sentence(last).then(|| width.saturating_sub(before + INDENT).max(SENTENCE));
        let mut out = Vec::new();
        for row in &self.rows {
            let start: String = (0..last).map(|column| self.padded(&row[column], column, widths[column])).collect();
            match sentence {
                Some(room) => {
                    for (place, line) in wrap(&row[last], room).into_iter().enumerate() {
                        let start = if place == 0 { start.clone() } else { " ".repeat(before) };
                        out.push(format!("{start}{:INDENT$}{line}", ""));
                    }
                }
                None => out.push(start + &self.padded(&row[last], last, widths[last])),
            }
        }
        out
    }

    fn padded(&self, text: &str, column: usize, width: usize) -> String {
        match self.columns[column].0 {
            Align::Left => format!("{:INDENT$}{text:<width$}", ""),
            Align::Right => format!("{:INDENT$}{text:>width$}", ""),
        }
    }

    fn drop_columns(&mut self, width: usize) {
        while self.width() > width {
            let least = self.columns.iter().enumerate().min_by_key(|(_, (_, worth))| *worth);
            let Some((column, _)) = least.filter(|(_, (_, worth))| *worth < ALWAYS) else { break };
            self.columns.remove(column);
            for row in &mut self.rows {
                row.remove(column);
            }
        }
    }

    /// Whether a column is the last one and holds sentences, which wrap.
    fn is_sentence(&self, column: usize) -> bool {
        column > 0 && column + 1 == self.columns.len() && self.columns[column].0 == Align::Left
    }

    fn width(&self) -> usize {
        let of = |column| match self.column_width(column) {
            width if self.is_sentence(column) => width.min(SENTENCE),
            width => width,
        };
        (0..self.columns.len()).map(|column| INDENT + of(column)).sum()
    }

    fn column_width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }

    /// Cuts the first column until the table fits, but to no fewer than `least` characters.
    fn narrow_first(&mut self, width: usize, least: usize) {
        let over = self.width().saturating_sub(width);
        let room = self.column_width(0).saturating_sub(over).max(least);
        for row in &mut self.rows {
            row[0] = fitted(&row[0], room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(table: &Table, width: usize) -> Vec<String> {
        Grid::new(table, |_| true).lines(width).iter().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn a_narrow_page_loses_the_least_worth_and_cuts_names() {
        let titles = [("", ALWAYS), ("mean", 2), ("p50", ALWAYS), ("p99.9", 1)];
        let table = Table::from_cells("", titles, [["a class with a very long name", "1,000", "900", "77,000"]]);
        assert_eq!(lines(&table, 51)[1], "  a class with a very long name  1,000  900  77,000");
        assert_eq!(lines(&table, 46)[1], "  a class with a very lon…  1,000  900  77,000");
        assert_eq!(lines(&table, 45)[1], "  a class with a very lon…  1,000  900");
        assert_eq!(lines(&table, 37), ["                            p50", "  a class with a very lon…  900"]);
        assert_eq!(lines(&table, 15)[1], "  a class…  900");
    }

    #[test]
    fn a_last_column_of_sentences_wraps() {
        let row = ("reset", "the connection was closed by the server before it had answered");
        let table: Table =
            Table::over("", [row]).column("kind", |(kind, _)| kind).left("example", |(_, text)| text).into();
        assert_eq!(
            lines(&table, 40),
            [
                "  kind   example",
                "  reset  the connection was closed by",
                "         the server before it had",
                "         answered"
            ]
        );
    }
}
