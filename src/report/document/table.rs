//! The one table: columns with alignment and worth, rows of cells with intervals, and notes on their marks. It is made
//! row by row, or column by column.

use std::ops::Range;

use super::cell::{NOTHING, TableCell, mark};
use super::note::Level;
use crate::analysis::{FigureKey, Metric, Quantile, SampleWarning};
use crate::units::fitted;

/// Worth of a column that is never left out.
pub(crate) const ALWAYS: u8 = u8::MAX;

/// Characters that the first column keeps. It keeps them for as long as other columns can be left out instead.
pub(crate) const FIRST_COLUMN: usize = 24;

/// Rows under titles; the first column names its row.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Caption that says what the table shows, for readers who have it read out.
    pub(crate) caption: String,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<TableRow>,
    /// Marks in the cells, each with its meaning.
    pub(crate) notes: Vec<(String, String)>,
    /// Name of a row where a screen says how many it leaves out. Absent: it does not say so.
    pub(crate) row_name: Option<&'static str>,
}

/// A column's title, and how it behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableColumn {
    pub(crate) title: String,
    pub(crate) align: Align,
    /// Worth of the column. Where there is too little room, columns of the least worth are left out.
    pub(crate) worth: u8,
    pub(crate) level: Level,
}

/// Side on which the cells of a column begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names and sentences; the last such column wraps.
    Left,
    /// Figures.
    Right,
}

impl TableColumn {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), align: Align::Right, worth: ALWAYS, level: Level::Summary }
    }

    pub(crate) const fn worth(mut self, worth: u8) -> Self {
        self.worth = worth;
        self
    }

    /// Leaves the column to full reports and pages.
    pub(crate) const fn detail(mut self) -> Self {
        self.level = Level::Detail;
        self
    }
}

impl From<&str> for TableColumn {
    fn from(title: &str) -> Self {
        Self::new(title)
    }
}

impl From<String> for TableColumn {
    fn from(title: String) -> Self {
        Self::new(title)
    }
}

impl<T: Into<String>> From<(T, u8)> for TableColumn {
    fn from((title, worth): (T, u8)) -> Self {
        Self::new(title).worth(worth)
    }
}

/// A column of figures under the catalogue's heading, or a shorter one.
pub(crate) struct FigureColumn {
    pub(crate) title: Option<&'static str>,
    pub(crate) key: FigureKey,
    pub(crate) worth: u8,
}

impl FigureColumn {
    /// Returns the column of a percentile of a latency, titled such as `TTFT p50`. Behind one of the same latency that
    /// is left out later, the title is `p95`.
    pub(crate) const fn percentile(metric: Metric, quantile: Quantile, worth: u8) -> Self {
        Self { title: None, key: FigureKey::percentile(quantile, metric), worth }
    }

    pub(crate) const fn titled(title: &'static str, metric: Metric, worth: u8) -> Self {
        Self { title: Some(title), key: FigureKey::from_metric(metric), worth }
    }

    /// The column under this title, whatever stands before it.
    pub(crate) const fn named(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Heading of the column behind another one.
    fn heading(&self, before: Option<&Self>) -> String {
        let FigureKey { metric, statistic, .. } = self.key;
        let is_explained = before.is_some_and(|other| other.key.metric == metric && other.worth >= self.worth);
        match (self.title, statistic) {
            (Some(title), _) => title.to_owned(),
            (None, Some(statistic)) if is_explained => statistic.to_string(),
            (None, Some(statistic)) => format!("{} {statistic}", metric.title()),
            (None, None) => metric.title().to_owned(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<TableCell>,
    pub(crate) level: Level,
}

impl Table {
    /// A table of these rows, to which columns are added.
    pub(crate) fn over<R: Copy>(caption: impl Into<String>, rows: impl IntoIterator<Item = R>) -> TableOf<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let cells = rows.iter().map(|_| TableRow { cells: Vec::new(), level: Level::Summary }).collect();
        let (caption, columns, notes) = (caption.into(), Vec::new(), Vec::new());
        TableOf { rows, table: Self { caption, columns, rows: cells, notes, row_name: None } }
    }

    /// A table of cells under titles.
    pub(crate) fn from_cells<C: Into<TableCell> + Clone>(
        caption: impl Into<String>,
        titles: impl IntoIterator<Item: Into<TableColumn>>,
        rows: impl IntoIterator<Item: IntoIterator<Item = C>>,
    ) -> Self {
        let rows: Vec<Vec<C>> = rows.into_iter().map(|cells| cells.into_iter().collect()).collect();
        let table = Self::over(caption, &rows);
        let titles = titles.into_iter().enumerate();
        titles.fold(table, |table, (place, title)| table.column(title, |cells| cells.get(place).cloned())).into()
    }
}

/// A table in the making: each column says what it holds of a row.
pub(crate) struct TableOf<R> {
    rows: Vec<R>,
    table: Table,
}

impl<R> From<TableOf<R>> for Table {
    fn from(made: TableOf<R>) -> Self {
        made.table
    }
}

impl<R: Copy> TableOf<R> {
    /// Adds a column: its title, perhaps with its worth, and its cell of a row.
    pub(crate) fn column<C: Into<TableCell>>(mut self, title: impl Into<TableColumn>, cell: impl Fn(R) -> C) -> Self {
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

    /// Adds a column of names or sentences, which stand to the left.
    pub(crate) fn left<C: Into<TableCell>>(self, title: impl Into<TableColumn>, cell: impl Fn(R) -> C) -> Self {
        self.column(TableColumn { align: Align::Left, ..title.into() }, cell)
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

    /// Adds a column for each figure that a row has.
    pub(crate) fn figures<C: Into<TableCell>>(
        self,
        columns: &[FigureColumn],
        cell: impl Fn(R, &FigureKey) -> C,
    ) -> Self {
        let before = std::iter::once(None).chain(columns.iter().map(Some));
        columns.iter().zip(before).fold(self, |table, (column, before)| {
            let title = (column.heading(before), column.worth);
            table.column_where_known(title, |row| cell(row, &column.key))
        })
    }

    /// Leaves rows to full reports and pages, by their places and contents.
    pub(crate) fn detail_rows(mut self, is_detail: impl Fn(usize, R) -> bool) -> Self {
        for (place, (of, row)) in self.rows.iter().zip(&mut self.table.rows).enumerate() {
            row.level = if is_detail(place, *of) { Level::Detail } else { Level::Summary };
        }
        self
    }

    /// Shows only these rows on a screen, which says how many more there are.
    pub(crate) fn in_brief(mut self, shown: &Range<usize>, row_name: &'static str) -> Self {
        self.table.row_name = Some(row_name);
        self.detail_rows(|place, _| !shown.contains(&place))
    }

    /// Explains the marks of percentiles that are there: first of too few samples.
    pub(crate) fn explain_marks(
        self,
        marks: impl IntoIterator<Item = Option<SampleWarning>>,
        meanings: [&str; 2],
    ) -> Self {
        let marks: Vec<_> = marks.into_iter().flatten().collect();
        let sorts = [SampleWarning::TooFewSamples, SampleWarning::Indicative].into_iter().zip(meanings);
        let there = sorts.filter(|(sort, _)| marks.contains(sort));
        self.explain(there.map(|(sort, meaning)| (mark(Some(sort)), meaning)))
    }

    /// Explains marks below the table.
    pub(crate) fn explain<S: Into<String>>(mut self, meanings: impl IntoIterator<Item = (&'static str, S)>) -> Self {
        let meanings = meanings.into_iter().map(|(mark, meaning)| (mark.to_owned(), meaning.into()));
        self.table.notes.extend(meanings);
        self
    }
}

/// A name no longer than a first column keeps. So what stands behind it there has room.
pub(crate) fn shortened(name: &str) -> String {
    fitted(name, FIRST_COLUMN)
}
