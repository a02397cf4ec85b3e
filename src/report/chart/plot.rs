//! The model of a chart: axes, the marks of each series, zones and reference rules.

use super::axis::Axis;
use super::levels::Levels;
use super::palette::Palette;

/// A chart: one x axis with one or more panels above it.
pub(crate) struct Plot {
    /// Description of what it shows, for a reader who has it read out.
    pub(crate) description: String,
    pub(crate) width: Width,
    pub(crate) x: Axis,
    pub(crate) panels: Vec<Panel>,
    /// Stretches of the x axis that stand out.
    pub(crate) zones: Vec<Zone>,
    /// Stretches of the x axis, each with the figures of all panels in words.
    pub(crate) slots: Vec<Slot>,
}

/// Share of the page that a chart takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Column,
    Page,
}

/// Series over one vertical axis.
pub(crate) struct Panel {
    pub(crate) y: Vertical,
    pub(crate) series: Vec<Series>,
    pub(crate) rules: Vec<ReferenceLine>,
}

/// Scale or rows along the height of a panel.
pub(crate) enum Vertical {
    Scale(Axis),
    /// One row for each name. A point's `y` is the number of its row, and its interval lies along the x axis.
    Rows(Vec<Row>),
}

/// A row of a panel.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Figures of the row in words.
    pub(crate) words: String,
    /// Moments within it for a script to list and to draw. They are milliseconds after `zero` on an x axis of seconds.
    pub(crate) moments_ms: Vec<f64>,
    pub(crate) zero: f64,
}

/// Marks that belong together; a series without a name is not in the legend.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) palette: Palette,
    pub(crate) form: SeriesForm,
}

/// Form in which a series is drawn.
pub(crate) enum SeriesForm {
    /// Points with their intervals, joined in their order.
    Points { points: Vec<Point>, line: LineStyle },
    /// A line through many places, of which a few are marked.
    Curve { through: Vec<(f64, f64)>, marked: Vec<Point> },
    /// Many points without intervals.
    Dots(Vec<Point>),
    /// Bars that stand on the x axis.
    Bars(Vec<Bar>),
    /// Filled stretches of rows.
    Spans(Vec<RowSpan>),
    /// Values over stretches of the x axis.
    Levels(Levels),
}

/// Way in which points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineStyle {
    Solid,
    Dashed,
    None,
}

/// A value with its interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Whether the value is only a lower bound.
    pub(crate) at_least: bool,
    /// Its figures in words.
    pub(crate) words: String,
}

/// A bar of a histogram.
pub(crate) struct Bar {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) height: f64,
    /// Its figures in words.
    pub(crate) words: String,
}

/// A filled stretch of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSpan {
    pub(crate) row: usize,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// A reference line across a panel, with its label.
pub(crate) enum ReferenceLine {
    /// At a height.
    Height(f64, String),
    /// At a place along the x axis.
    Place(f64, String),
}

/// A stretch of the x axis that stands out.
pub(crate) struct Zone {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) kind: ZoneKind,
    pub(crate) label: String,
}

/// Reason why a stretch stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneKind {
    /// The reader should look at it.
    Marked,
    /// Demands are met there.
    Met,
    /// Demands are missed there.
    Missed,
    /// Stretch in which nothing counts.
    Uncounted,
    /// Stretch whose figures are not trusted.
    Doubtful,
}

/// A stretch of the x axis with the figures of all panels in words.
pub(crate) struct Slot {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) words: String,
}

impl Plot {
    /// Series over two axes.
    pub(crate) fn new(description: String, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self::from_parts(description, x, vec![Panel::new(y, series)])
    }

    /// Series over rows under one axis: a forest plot or a Gantt chart.
    pub(crate) fn rows(description: String, x: Axis, rows: Vec<Row>, series: Vec<Series>) -> Self {
        Self::from_parts(description, x, vec![Panel { y: Vertical::Rows(rows), series, rules: Vec::new() }])
    }

    /// Rows with at most one mark each, under an axis that holds all marks.
    ///
    /// `None` where no row has a mark.
    pub(crate) fn marked_rows(
        description: String,
        axis: impl FnOnce(Vec<f64>) -> Axis,
        marked: impl IntoIterator<Item = (Row, Palette, Option<Point>)>,
    ) -> Option<Self> {
        let (mut rows, mut series) = (Vec::new(), Vec::new());
        for (row, palette, point) in marked {
            let point = point.map(|point| vec![Point { y: rows.len() as f64, ..point }]);
            series.extend(point.map(|point| Series::points("", palette, LineStyle::None, point)));
            rows.push(row);
        }
        let places = Series::extent(&series, |point| point.x);
        (!places.is_empty()).then(|| Self::rows(description, axis(places), rows, series))
    }

    /// Panels above one another.
    pub(crate) fn from_parts(description: String, x: Axis, panels: Vec<Panel>) -> Self {
        Self { description, width: Width::Column, x, panels, zones: Vec::new(), slots: Vec::new() }
    }

    /// The chart as wide as the page.
    pub(crate) fn wide(self) -> Self {
        Self { width: Width::Page, ..self }
    }

    /// The chart with these rules across its last panel.
    pub(crate) fn with_rules(mut self, rules: impl IntoIterator<Item = ReferenceLine>) -> Self {
        if let Some(panel) = self.panels.last_mut() {
            panel.rules.extend(rules);
        }
        self
    }

    /// The chart with these zones.
    pub(crate) fn with_zones(mut self, zones: impl IntoIterator<Item = Zone>) -> Self {
        self.zones.extend(zones);
        self
    }
}

impl Row {
    /// One with nothing more to say of it.
    pub(crate) fn new(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self { name: name.into(), words: words.into(), moments_ms: Vec::new(), zero: 0.0 }
    }
}

impl Panel {
    pub(crate) const fn new(y: Axis, series: Vec<Series>) -> Self {
        Self { y: Vertical::Scale(y), series, rules: Vec::new() }
    }
}

impl Series {
    pub(crate) fn new(name: impl Into<String>, palette: Palette, form: SeriesForm) -> Self {
        Self { name: name.into(), palette, form }
    }

    /// Points joined by a line, or by none.
    pub(crate) fn points(name: impl Into<String>, palette: Palette, line: LineStyle, points: Vec<Point>) -> Self {
        Self::new(name, palette, SeriesForm::Points { points, line })
    }

    /// Returns all places along an axis that marked points and their intervals reach. The intervals lie along the axis.
    pub(crate) fn extent(series: &[Self], along: fn(&Point) -> f64) -> Vec<f64> {
        let points = series.iter().flat_map(Self::marked);
        points.flat_map(|point| [Some(along(point)), point.low, point.high]).flatten().collect()
    }

    /// Makes arrows at the top of points above it or known only from below. The top is `most`, or else the highest
    /// point; points known only from below might else seem to fall. Says whether there is any.
    pub(crate) fn raise(series: &mut [Self], most: Option<f64>) -> bool {
        let drawn = || series.iter().flat_map(Self::marked).map(|point| point.y);
        let (highest, mut any) = (most.unwrap_or_else(|| drawn().fold(0.0, f64::max)), false);
        for series in series {
            if let SeriesForm::Points { points, .. } | SeriesForm::Dots(points) = &mut series.form {
                for point in points.iter_mut().filter(|point| point.at_least || point.y > highest) {
                    any = true;
                    *point = Point { y: highest, low: None, high: None, at_least: true, ..point.clone() };
                }
            }
        }
        any
    }

    /// The points that it marks.
    pub(crate) fn marked(&self) -> &[Point] {
        match &self.form {
            SeriesForm::Points { points, .. } | SeriesForm::Dots(points) | SeriesForm::Curve { marked: points, .. } => {
                points
            }
            SeriesForm::Bars(_) | SeriesForm::Spans(_) | SeriesForm::Levels(_) => &[],
        }
    }
}

impl Point {
    /// A value without an interval.
    pub(crate) fn at(x: f64, y: f64, words: String) -> Self {
        Self { x, y, words, ..Self::default() }
    }
}

impl ReferenceLine {
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Height(_, label) | Self::Place(_, label) => label,
        }
    }
}
