//! Charts of a document: pictures for a page, bars for a terminal.

use std::fmt;

use super::table::Table;
use crate::report::chart::Plot;

/// A chart with its title, what to look for, and the figures behind it.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Hint at what to look for.
    pub(crate) hint: String,
    /// The picture, which only a page draws.
    pub(crate) plot: Plot,
    /// The figures behind the picture, which a page folds.
    pub(crate) behind: Option<Table>,
    /// Bars that a terminal draws in its place.
    pub(crate) bars: Option<BarChart>,
}

impl fmt::Debug for Chart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, hint, plot, behind, bars } = self;
        let mut chart = out.debug_struct("Chart");
        chart.field("title", title).field("hint", hint).field("plot", &plot.description);
        chart.field("behind", behind).field("bars", bars).finish()
    }
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, plot: Plot) -> Self {
        Self { title: title.into(), hint: String::new(), plot, behind: None, bars: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn behind(self, table: impl Into<Table>) -> Self {
        Self { behind: Some(table.into()), ..self }
    }

    pub(crate) fn bars(self, bars: BarChart) -> Self {
        Self { bars: Some(bars), ..self }
    }
}

/// A chart of characters: a bar for each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BarChart {
    /// Heading that says what the bars show.
    pub(crate) heading: String,
    /// The bound that is drawn across the bars.
    pub(crate) bound: Option<f64>,
    pub(crate) bars: Vec<BarRow>,
}

/// A row of a chart of characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarRow {
    pub(crate) name: String,
    pub(crate) length: f64,
    /// The figure behind the bar.
    pub(crate) label: String,
}
