//! Charts of a document: pictures for a page, bars for a terminal.

use maud::Markup;

use super::table::Table;

/// A chart with its title, what to look for in it, and the figures behind it.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What to look for.
    pub(crate) hint: String,
    pub(crate) size: ChartSize,
    /// The picture as inline SVG, which only a page shows.
    pub(crate) picture: Markup,
    /// The figures behind the picture, which a page folds.
    pub(crate) behind: Option<Table>,
    /// What a terminal draws in its place.
    pub(crate) bars: Option<BarChart>,
}

/// How much room a chart takes on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChartSize {
    /// A column: charts that follow each other stand side by side.
    Column,
    /// The page's whole width.
    Wide,
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, picture: Markup) -> Self {
        Self {
            title: title.into(),
            hint: String::new(),
            size: ChartSize::Column,
            picture,
            behind: None,
            bars: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) const fn wide(mut self) -> Self {
        self.size = ChartSize::Wide;
        self
    }

    pub(crate) fn behind(mut self, table: Table) -> Self {
        self.behind = Some(table);
        self
    }

    pub(crate) fn bars(mut self, bars: BarChart) -> Self {
        self.bars = Some(bars);
        self
    }
}

/// A chart of characters: a bar for each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BarChart {
    /// What the bars show.
    pub(crate) heading: String,
    /// The bound that is drawn across the bars.
    pub(crate) bound: Option<f64>,
    pub(crate) bars: Vec<Bar>,
}

/// A row of a chart of characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) length: f64,
    /// The figure behind the bar.
    pub(crate) label: String,
}
