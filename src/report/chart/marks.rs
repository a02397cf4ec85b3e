//! The marks of a series on a panel.

use maud::{Markup, html};

use super::frame::{Frame, n};
use super::levels::{LevelStyle, Levels};
use super::palette::{Palette, Sign};
use super::plot::{Bar, LineStyle, Point, RowSpan, Series, SeriesForm};

impl Series {
    /// Returns the shape in the legend; nothing where the series has no name.
    pub(super) fn sign(&self) -> Option<Sign> {
        let sign = match &self.form {
            SeriesForm::Points { .. } | SeriesForm::Curve { .. } | SeriesForm::Dots(_) => Sign::Mark,
            SeriesForm::Bars(_) | SeriesForm::Spans(_) => Sign::Bar,
            SeriesForm::Levels(levels) => match levels.style {
                LevelStyle::Area => Sign::Area,
                LevelStyle::Steps => Sign::Steps,
                LevelStyle::Line => Sign::Line,
            },
        };
        (!self.name.is_empty()).then(|| sign(self.palette))
    }

    /// The places of its lines and points, by value, that labels of rules avoid.
    pub(super) fn places(&self) -> Vec<Vec<(f64, f64)>> {
        match &self.form {
            SeriesForm::Points { points, .. } => vec![at(points)],
            SeriesForm::Curve { through, .. } => vec![through.clone()],
            SeriesForm::Dots(points) => at(points).into_iter().map(|place| vec![place]).collect(),
            SeriesForm::Bars(_) | SeriesForm::Spans(_) | SeriesForm::Levels(_) => Vec::new(),
        }
    }

    pub(super) fn draw(&self, frame: &Frame<'_>) -> Markup {
        match &self.form {
            SeriesForm::Points { points, line } => {
                let through = if *line == LineStyle::None { Vec::new() } else { at(points) };
                // A faint line has no marks that would hide the series that it stands behind.
                let is_marked = self.palette != Palette::Faint || *line == LineStyle::None;
                html! {
                    (polyline(frame, self.palette, *line, &through))
                    @for point in points { (self.point(frame, point, is_marked)) }
                }
            }
            SeriesForm::Curve { through, marked } => html! {
                (polyline(frame, self.palette, LineStyle::Solid, through))
                @for point in marked { (self.point(frame, point, true)) }
            },
            SeriesForm::Dots(points) => html! {
                @for point in points {
                    g.speck { title { (point.words) } (self.mark(frame, point)) }
                }
            },
            SeriesForm::Bars(bars) => html! { @for bar in bars { (self.bar(frame, bar)) } },
            SeriesForm::Spans(spans) => html! { @for span in spans { (self.span(frame, *span)) } },
            SeriesForm::Levels(levels) => self.levels(frame, levels),
        }
    }

    fn mark(&self, frame: &Frame<'_>, point: &Point) -> Markup {
        let place = frame.place((point.x, point.y));
        if point.at_least { self.palette.arrow(place, frame.y.is_none()) } else { self.palette.mark(place) }
    }

    /// A point with its interval; over rows the row itself says its figures.
    fn point(&self, frame: &Frame<'_>, point: &Point, is_marked: bool) -> Markup {
        let (x, y) = frame.place((point.x, point.y));
        html! {
            g {
                @if !point.words.is_empty() { title { (point.words) } }
                @if let Some(ends) = point.low.zip(point.high) {
                    path class={ "whisker " (self.palette.class()) } d=(whisker(frame, (x, y), ends)) {}
                }
                @if is_marked { (self.mark(frame, point)) }
                @if frame.y.is_some() { circle class="hit" cx=(n(x)) cy=(n(y)) r="10" {} }
            }
        }
    }

    fn bar(&self, frame: &Frame<'_>, bar: &Bar) -> Markup {
        let (left, right, top) = (frame.across(bar.from), frame.across(bar.to), frame.up(bar.height));
        html! {
            rect class={ "fill " (self.palette.class()) } x=(n(left)) y=(n(top))
                width=(n((right - left - 0.6).max(0.8)))
                height=(n((frame.bottom - top).max(1.0))) { title { (bar.words) } }
        }
    }

    fn span(&self, frame: &Frame<'_>, span: RowSpan) -> Markup {
        let (from, to) = (frame.across(span.from), frame.across(span.to));
        let top = frame.up(span.row as f64) - frame.row / 2.0;
        html! {
            rect class={ "fill " (self.palette.class()) } x=(n(from)) y=(n(top + 2.0))
                width=(n((to - from).max(0.3))) height=(n(frame.row - 4.0)) {}
        }
    }

    fn levels(&self, frame: &Frame<'_>, levels: &Levels) -> Markup {
        let (across, up) = (|x| frame.across(x), |y| frame.up(y));
        // Steps differ from the area behind them by their form, one line from another by its dashes.
        let class = match levels.style {
            LevelStyle::Line => self.palette.line_class(),
            LevelStyle::Steps | LevelStyle::Area => self.palette.class(),
        };
        html! {
            @if levels.style == LevelStyle::Area {
                path class={ "area " (class) } d=(levels.area(&across, &up, frame.bottom)) {}
            } @else {
                path class={ "line " (class) } d=(levels.path(&across, &up)) {}
                @for place in levels.alone() { (self.palette.mark(frame.place(place))) }
            }
        }
    }
}

fn at(points: &[Point]) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.x, point.y)).collect()
}

/// A line through these places; nothing where there is one place or none.
fn polyline(frame: &Frame<'_>, palette: Palette, line: LineStyle, through: &[(f64, f64)]) -> Markup {
    let places = through.iter().map(|place| frame.place(*place));
    let joined: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dashes = if line == LineStyle::Dashed { " dashed" } else { "" };
    html! {
        @if joined.len() > 1 {
            polyline class={ "line " (palette.class()) (dashes) } points=(joined.join(" ")) {}
        }
    }
}

/// Draws an interval around a point, with a bar at each end on the chart. It is upright on a scale, and along the axis
/// in a row.
fn whisker(frame: &Frame<'_>, (x, y): (f64, f64), (low, high): (f64, f64)) -> String {
    let Some(axis) = frame.y else {
        let (low, high) = (frame.across(low), frame.across(high));
        return format!("M{low:.1} {y:.1}H{high:.1}m0 -4v8M{low:.1} {:.1}v8", y - 4.0);
    };
    let bar = |end: f64| {
        if axis.holds(end) { format!("M{:.1} {:.1}h6", x - 3.0, frame.up(end)) } else { String::new() }
    };
    format!("M{x:.1} {:.1}V{:.1}{}{}", frame.up(low), frame.up(high), bar(low), bar(high))
}
