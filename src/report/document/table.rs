//! The one table: columns with alignment and worth, rows of cells with intervals, and notes on their marks. It is made
//! row by row, or column by column.

use std::ops::Range;

use super::note::Level;
use crate::analysis::{AcrossRuns, Figure, Percentile, SampleWarning};
use crate::units::{count, fitted, span, three_digits};

/// Stands where there is no figure.
pub(crate) const NOTHING: &str = "–";

/// Worth of a column that is never left out.
pub(crate) const ALWAYS: u8 = u8::MAX;

/// Characters that the first column keeps for as long as other columns can be left out instead.
pub(crate) const FIRST_COLUMN: usize = 24;

/// Rows under titles; the first column names its row.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What the table shows, for readers who have it read out.
    pub(crate) caption: String,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<TableRow>,
    /// What the marks in the cells mean: each mark with its meaning.
    pub(crate) notes: Vec<(String, String)>,
    /// What a row is called where a screen says how many it leaves out; absent: it does not say so.
    pub(crate) row_name: Option<&'static str>,
}

/// A column's title, and how it behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableColumn {
    pub(crate) title: String,
    pub(crate) align: Align,
    /// Where there is too little room, columns of the least worth are left out.
    pub(crate) worth: u8,
    pub(crate) level: Level,
}

/// On which side the cells of a column begin.
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

    pub(crate) const fn left(mut self) -> Self {
        self.align = Align::Left;
        self
    }

    pub(crate) const fn worth(mut self, worth: u8) -> Self {
        self.worth = worth;
        self
    }

    /// Only full reports and pages have it.
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

#[derive(Clone, Debug)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<TableCell>,
    pub(crate) level: Level,
}

impl Table {
    /// A table without rows. The first column is to the left, the others are as they say.
    pub(crate) fn new<C: Into<TableColumn>>(
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        let mut columns: Vec<TableColumn> = columns.into_iter().map(Into::into).collect();
        if let Some(first) = columns.first_mut() {
            first.align = Align::Left;
        }
        Self { caption: caption.into(), columns, rows: Vec::new(), notes: Vec::new(), row_name: None }
    }

    /// A table of these rows, to which columns are added.
    pub(crate) fn of<R: Copy>(caption: impl Into<String>, rows: impl IntoIterator<Item = R>) -> TableOf<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let mut table = Self::new(caption, [] as [TableColumn; 0]);
        for _ in &rows {
            table.row([] as [TableCell; 0]);
        }
        TableOf { rows, table }
    }

    pub(crate) fn row<C: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.row_of(Level::Summary, cells);
    }

    /// Leaves the rows of these places to full reports and pages.
    pub(crate) fn detail_rows(&mut self, is_detail: impl Fn(usize) -> bool) {
        for (place, row) in self.rows.iter_mut().enumerate() {
            row.level = if is_detail(place) { Level::Detail } else { Level::Summary };
        }
    }

    /// Leaves all rows but these to full reports and pages; a screen says how many more there are of what is called so.
    pub(crate) fn rows_in_brief(&mut self, shown: &Range<usize>, row_name: &'static str) {
        self.detail_rows(|place| !shown.contains(&place));
        self.row_name = Some(row_name);
    }

    /// A row that only full reports and pages have.
    pub(crate) fn detail_row<C: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.row_of(Level::Detail, cells);
    }

    fn row_of<C: Into<TableCell>>(&mut self, level: Level, cells: impl IntoIterator<Item = C>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(TableRow { cells, level });
    }

    /// Says what the marks of percentiles mean, of those that are there: first of too few samples.
    pub(crate) fn explain_marks(
        &mut self,
        marks: impl IntoIterator<Item = Option<SampleWarning>>,
        meanings: [&str; 2],
    ) {
        let marks: Vec<_> = marks.into_iter().flatten().collect();
        for (sort, meaning) in
            [SampleWarning::TooFewSamples, SampleWarning::Indicative].into_iter().zip(meanings)
        {
            if marks.contains(&sort) {
                self.explain(mark(Some(sort)), meaning);
            }
        }
    }

    /// Says what a mark means, below the table.
    pub(crate) fn explain(&mut self, mark: impl Into<String>, meaning: impl Into<String>) {
        self.notes.push((mark.into(), meaning.into()));
    }
}

/// A table in the making: each column says what it holds of a row.
pub(crate) struct TableOf<R> {
    rows: Vec<R>,
    table: Table,
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

/// What stands in a table's cell.
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

/// A figure that may be open: `> limit` when only that is known, `≤ limit` when it is no more than that.
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

/// What is known; else a sign that nothing is.
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

/// A figure in a table: about three digits, at most three decimals, for what is finer is noise.
pub(crate) fn cell(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.001 => "<0.001".to_owned(),
        small if small < 0.1 => format!("{value:.3}"),
        _ => three_digits(value),
    }
}

/// The same, if there is one.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), cell)
}

/// A figure; `> limit` when only that is known, `≤ limit` when it is open but no more than that.
pub(crate) fn figure(figure: Figure) -> String {
    figure_as(figure, cell)
}

/// The same, each number in words.
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

/// A name no longer than a first column keeps, so that what stands behind it there has room.
pub(crate) fn shortened(name: &str) -> String {
    fitted(name, FIRST_COLUMN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_finer_than_a_microsecond_is_noise() {
        let shown = [0.0, 0.000_414, 0.001, 0.012_34, 0.2, 7.5, 1_234.0].map(cell);
        assert_eq!(shown, ["0", "<0.001", "0.001", "0.012", "0.200", "7.50", "1,234"]);
    }
}
