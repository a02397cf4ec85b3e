//! The one table: columns with alignment and worth, rows of cells with intervals, and notes on their marks. It is made
//! row by row, or column by column.

use std::ops::Range;

use super::note::Level;
use crate::analysis::{AcrossRuns, Figure, FigureKey, Metric, Percentile, Quantile, SampleWarning};
use crate::units::{count, fitted, span, three_digits};

/// Stands where there is no figure.
pub(crate) const NOTHING: &str = "–";

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

/// Content of a table's cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    /// The interval of the figure, which a page shows below it.
    pub(crate) interval: Option<String>,
}

impl TableCell {
    /// The cell with one more mark behind its figure.
    pub(crate) fn marked(self, mark: &str) -> Self {
        Self { text: self.text + mark, ..self }
    }
}

/// A count, with separators between thousands.
impl From<u64> for TableCell {
    fn from(number: u64) -> Self {
        count(number).into()
    }
}

/// A figure of about three digits.
impl From<f64> for TableCell {
    fn from(value: f64) -> Self {
        cell(value).into()
    }
}

/// Cell of a figure that may be open. It is `> limit` when only that is known, `≤ limit` when the figure is no more
/// than that.
impl From<Figure> for TableCell {
    fn from(value: Figure) -> Self {
        figure(value).into()
    }
}

/// A percentile with the mark of its reservation and its interval.
impl From<&Percentile> for TableCell {
    fn from(shown: &Percentile) -> Self {
        Self { text: percentile(shown), interval: range(shown) }
    }
}

/// The mean over several runs with the mark of its reservation.
impl From<&AcrossRuns> for TableCell {
    fn from(across: &AcrossRuns) -> Self {
        mean(across, 1.0).into()
    }
}

/// Cell of what is known, else a sign that nothing is.
impl<C: Into<Self>> From<Option<C>> for TableCell {
    fn from(known: Option<C>) -> Self {
        known.map_or_else(|| NOTHING.into(), Into::into)
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, interval: None }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Returns a figure for a table, in about three digits and at most three decimals. What is finer is noise.
pub(crate) fn cell(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.001 => "<0.001".to_owned(),
        small if small < 0.1 => format!("{value:.3}"),
        _ => three_digits(value),
    }
}

/// Returns a figure for a table, or a sign that nothing is known.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), cell)
}

/// Returns a figure that may be open. It is `> limit` when only that is known, `≤ limit` when it is open but no more
/// than that.
pub(crate) fn figure(figure: Figure) -> String {
    figure_as(figure, cell)
}

/// Returns a figure as `figure` does, each number in these words.
pub(crate) fn figure_as(figure: Figure, words: impl Fn(f64) -> String) -> String {
    match figure {
        Figure::Exact(value) => words(value),
        Figure::Between { low, high } if words(low) == words(high) => words(high),
        Figure::Between { high, .. } => format!("≤ {}", words(high)),
        Figure::AtLeast(limit) => format!("> {}", words(limit)),
    }
}

/// The mean over several runs times `scale`, with the mark of its reservation.
pub(crate) fn mean(across: &AcrossRuns, scale: f64) -> String {
    let mean = across.mean_figure().map(|mean| figure_as(mean, |value| cell(value * scale)));
    format!("{}{}", mean.as_deref().unwrap_or(NOTHING), mark(across.mark))
}

/// A percentile with the mark of its reservation.
pub(crate) fn percentile(percentile: &Percentile) -> String {
    format!("{}{}", figure(percentile.figure), mark(percentile.mark))
}

/// The mark of a reservation.
pub(crate) const fn mark(mark: Option<SampleWarning>) -> &'static str {
    match mark {
        Some(SampleWarning::TooFewSamples) => "*",
        Some(SampleWarning::Indicative) => "~",
        None => "",
    }
}

/// The interval of a percentile: `137–160`; `over 137` where there is no upper end.
pub(crate) fn range(percentile: &Percentile) -> Option<String> {
    match percentile.interval {
        (Some(low), Some(high)) if cell(low) == cell(high) => Some(cell(low)),
        ends => span(ends, "–", cell),
    }
}

/// A name no longer than a first column keeps. So what stands behind it there has room.
pub(crate) fn shortened(name: &str) -> String {
    fitted(name, FIRST_COLUMN)
}
