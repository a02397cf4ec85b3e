//! The cells of tables: figures in about three digits, with their marks and intervals.

use crate::analysis::{AcrossRuns, Figure, Percentile, SampleWarning};
use crate::units::{count, span, three_digits};

/// Stands where there is no figure.
pub(crate) const NOTHING: &str = "–";

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
