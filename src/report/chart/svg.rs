//! A plot as inline SVG.

use maud::{Markup, html};

use super::frame::{BOTTOM, CHARACTER, COLUMN, Frame, LEFT, PAGE, RIGHT, legend, n};
use super::palette::Sign;
use super::plot::{Panel, Plot, ReferenceLine, Row, Vertical, Width, Zone, ZoneKind};
use super::rules;
use crate::units::fitted;

/// Height of a chart with one panel, in a column and of page width.
const COLUMN_HEIGHT: f64 = 300.0;
const PAGE_HEIGHT: f64 = 340.0;
/// Height of one of several panels.
const PANEL: f64 = 74.0;
/// Height of a row, in a column and in a chart of page width.
const ROW: f64 = 26.0;
const NARROW_ROW: f64 = 13.0;
/// Room above a panel for the title of its axis. Over rows it is for the label of a zone.
const TITLE: f64 = 30.0;
const ROWS_TITLE: f64 = 20.0;
/// Room between panels.
const GAP: f64 = 12.0;
/// The most room that names of rows get.
const MOST_NAME: f64 = 170.0;

/// Marks of a chart in SVG.
#[derive(Debug)]
pub(crate) struct DrawnPlot {
    pub(crate) marks: Markup,
    /// Extent of the marks, in pixels at the size of the page's text.
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Scales of the axes for the page's script.
    scale_x: String,
    scale_y: Option<String>,
}

impl Plot {
    /// The chart as SVG, for a page.
    pub(crate) fn draw(&self) -> Markup {
        let Some(drawn) = self.drawn() else { return html! {} };
        let class = (self.width == Width::Page).then_some("wide");
        html! {
            svg class=[class] viewBox=(format!("0 0 {} {:.1}", drawn.width, drawn.height))
                data-x=(drawn.scale_x) data-y=[&drawn.scale_y] role="img" aria-label=(self.description) {
                (drawn.marks)
            }
        }
    }

    /// Its marks and their extent. A chart without panels has none.
    pub(crate) fn drawn(&self) -> Option<DrawnPlot> {
        let width = if self.width == Width::Page { PAGE } else { COLUMN };
        let mut top = 0.0;
        let mut drawn = Vec::new();
        let mut last = None;
        for panel in &self.panels {
            let (markup, frame) = self.panel(panel, top, width);
            top = frame.bottom + GAP;
            drawn.push(markup);
            last = Some(frame);
        }
        let frame = last?;
        let bottom = frame.bottom;
        let marks = html! {
            @for panel in &drawn { (panel) }
            (frame.x_axis())
            @for slot in &self.slots {
                @let (from, to) = (frame.across(slot.from), frame.across(slot.to));
                rect class="hit slot" x=(n(from)) y="0" width=(n(to - from)) height=(n(bottom)) {
                    title { (slot.words) }
                }
            }
        };
        let scale_y = frame.y.filter(|_| drawn.len() == 1).map(|axis| axis.scale(bottom, frame.top));
        let scale_x = frame.x.scale(frame.left, frame.right);
        Some(DrawnPlot { marks, width, height: bottom + BOTTOM, scale_x, scale_y })
    }

    fn panel<'a>(&'a self, panel: &'a Panel, top: f64, width: f64) -> (Markup, Frame<'a>) {
        let names: Vec<(Sign, &str)> =
            panel.series.iter().filter_map(|series| Some((series.sign()?, series.name.as_str()))).collect();
        let title = if matches!(panel.y, Vertical::Rows(_)) { ROWS_TITLE } else { TITLE };
        let (names, names_height) = legend(&names, top + title, width);
        let start = top + title + names_height;
        let right = width - RIGHT;
        let frame = match &panel.y {
            Vertical::Rows(rows) => {
                let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
                let left = (longest as f64 * CHARACTER + 14.0).clamp(40.0, MOST_NAME);
                let row = if self.width == Width::Page { NARROW_ROW } else { ROW };
                let bottom = start + rows.len() as f64 * row;
                Frame { x: &self.x, y: None, left, right, top: start, bottom, row }
            }
            Vertical::Scale(axis) => {
                let bottom = match (self.panels.len(), self.width) {
                    (1, Width::Column) => COLUMN_HEIGHT - BOTTOM,
                    (1, Width::Page) => PAGE_HEIGHT - BOTTOM,
                    _ => start + PANEL,
                };
                Frame { x: &self.x, y: Some(axis), left: LEFT, right, top: start, bottom, row: 0.0 }
            }
        };
        // A low panel has room for every other of five ticks or more.
        let is_dense = frame.y.is_some_and(|axis| self.panels.len() > 1 && axis.ticks().len() > 4);
        let markup = html! {
            @for zone in &self.zones { (zone.draw(&frame)) }
            (frame.grid(top + 13.0, if is_dense { 2 } else { 1 }))
            (names)
            @match &panel.y {
                Vertical::Rows(rows) => { (self.row_marks(panel, rows, &frame)) }
                Vertical::Scale(_) => {
                    @for series in &panel.series { (series.draw(&frame)) }
                    @let places: Vec<_> = panel.series.iter().flat_map(super::plot::Series::places).collect();
                    (rules::draw(&panel.rules, &places, &frame))
                }
            }
        };
        (markup, frame)
    }

    /// Names, rules and marks of rows; each row says its figures over its whole length.
    fn row_marks(&self, panel: &Panel, rows: &[Row], frame: &Frame<'_>) -> Markup {
        let names = shortened(rows.iter().map(|row| row.name.as_str()), ((frame.left - 12.0) / CHARACTER) as usize);
        let class = if self.width == Width::Page { "lane" } else { "legend" };
        html! {
            @for rule in &panel.rules {
                @if let ReferenceLine::Place(place, label) = rule {
                    @let x = frame.across(*place);
                    line class="rule" x1=(n(x)) x2=(n(x)) y1=(n(frame.top)) y2=(n(frame.bottom)) { title { (label) } }
                }
            }
            @for (place, name) in names.iter().enumerate() {
                text class=(class) x=(n(frame.left - 8.0)) y=(n(frame.up(place as f64) + 4.0))
                    text-anchor="end" { (name) }
            }
            @for series in &panel.series { (series.draw(frame)) }
            @for (place, row) in rows.iter().enumerate() {
                @let top = frame.up(place as f64) - frame.row / 2.0;
                @let moments: Vec<String> = row.moments_ms.iter().map(|after| n(*after)).collect();
                @let some = !moments.is_empty();
                rect class="hit" data-moments=[some.then(|| moments.join(" "))] data-zero=[some.then_some(row.zero)]
                    x="0" y=(n(top)) width=(n(frame.right + RIGHT)) height=(n(frame.row)) { title { (row.words) } }
            }
        }
    }
}

impl Zone {
    /// Draws the zone from the top of a panel to its bottom. Over rows its label is above it.
    fn draw(&self, frame: &Frame<'_>) -> Markup {
        let (from, to) = (frame.across(self.from), frame.across(self.to));
        html! {
            rect class=(self.kind.class()) x=(n(from)) y=(n(frame.top)) width=(n((to - from).max(1.5)))
                height=(n(frame.bottom - frame.top)) { title { (self.label) } }
            @if frame.y.is_none() {
                text class="note" x=(n(f64::midpoint(from, to))) y="13" text-anchor="middle" { (self.label) }
            }
        }
    }
}

impl ZoneKind {
    const fn class(self) -> &'static str {
        match self {
            Self::Marked => "shade",
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Uncounted => "uncounted",
            Self::Doubtful => "doubtful",
        }
    }
}

/// Returns the names in no more than `room` characters. They are cut at their ends, or at their beginnings where only
/// the ends distinguish them.
fn shortened<'a>(names: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let distinct = |names: &[String]| names.iter().collect::<std::collections::BTreeSet<_>>().len();
    let begun: Vec<String> = names.iter().map(|name| fitted(name, room)).collect();
    let ended: Vec<String> = names.iter().map(|name| end(name, room)).collect();
    if distinct(&ended) > distinct(&begun) { ended } else { begun }
}

/// The end of a name, no longer than its room.
fn end(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - room.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::{Axis, LevelStyle, Levels, LineStyle, Palette, Point, Series, SeriesForm, Slot, Value};

    fn plot(name: &str) -> Plot {
        let point = |x: f64| Point {
            x,
            y: x * x,
            low: Some(x),
            high: Some(2.0 * x * x),
            at_least: x > 3.0,
            words: format!("{x}/s <b>"),
        };
        let series =
            |name: &str, palette| Series::points(name, palette, LineStyle::Solid, vec![point(1.0), point(4.0)]);
        Plot::new(
            "TTFT over rate".to_owned(),
            Axis::from_zero("requests/s", [1.0, 4.0]),
            Axis::from_zero("TTFT, ms", [32.0]),
            vec![series(name, Palette::First), series("p99", Palette::Second)],
        )
        .with_rules([ReferenceLine::Height(20.0, "p99 ttft < 20ms".to_owned())])
        .with_zones([Zone { from: 2.0, to: 3.0, kind: ZoneKind::Marked, label: "bracket".to_owned() }])
    }

    #[test]
    fn every_text_is_escaped_and_every_point_has_its_figures() {
        let drawn = plot("<script>alert(1)</script>").draw().into_string();
        assert!(!drawn.contains("<script>") && drawn.contains("&lt;script&gt;"), "{drawn}");
        assert!(drawn.contains("p99 ttft &lt; 20ms") && drawn.contains("<title>1/s &lt;b&gt;</title>"), "{drawn}");
        assert_eq!(drawn.matches("class=\"hit\"").count(), 4);
        assert!(drawn.contains("hollow"), "a lower bound has a shape of its own");
    }

    #[test]
    fn nothing_is_drawn_outside_the_chart() {
        let drawn = plot("a series with a name that is so long that the legend needs a second line of its own")
            .draw()
            .into_string();
        for (attribute, most) in
            [(" x=\"", COLUMN), (" cx=\"", COLUMN), (" y=\"", COLUMN_HEIGHT), (" cy=\"", COLUMN_HEIGHT)]
        {
            for rest in drawn.split(attribute).skip(1) {
                let value: f64 = rest.split('"').next().unwrap().parse().unwrap();
                assert!((0.0..=most).contains(&value), "{attribute}{value}");
            }
        }
    }

    /// Every text, as wide as it is at most, lies within the picture.
    #[test]
    fn no_text_is_clipped() {
        let long = "p95 of a figure with a name that nobody would give to it, or hardly anybody";
        let rules = [2.0, 3.9].map(|at| ReferenceLine::Place(at, long.to_owned()));
        let wide = plot(long).wide().with_rules([ReferenceLine::Place(1.0, long.to_owned())]);
        for (drawn, width) in [(plot(long).with_rules(rules).draw(), COLUMN), (wide.draw(), PAGE)] {
            let drawn = drawn.into_string();
            for text in drawn.split("<text ").skip(1) {
                let of = |name: &str| text.split(&format!("{name}=\"")).nth(1)?.split('"').next();
                let shown = text.split('>').nth(1).unwrap().split('<').next().unwrap();
                let length = shown.replace("&lt;", "<").chars().count() as f64 * CHARACTER;
                let x: f64 = of(" x").or_else(|| of("x")).unwrap().parse().unwrap();
                let left = match of("text-anchor") {
                    Some("end") => x - length,
                    Some("middle") => x - length / 2.0,
                    _ => x,
                };
                assert!(left >= -CHARACTER && left + length <= width + CHARACTER, "{shown} at {left}");
            }
        }
    }

    #[test]
    fn every_stretch_has_its_figures_over_all_panels() {
        let panel = || {
            let levels =
                Levels { style: LevelStyle::Steps, across: 0.0, values: vec![Value { from: 0.0, to: 1.0, y: 3.0 }] };
            let series = vec![Series::new("requests", Palette::First, SeriesForm::Levels(levels))];
            Panel::new(Axis::from_zero("requests/s <i>", [3.0]), series)
        };
        let x = Axis::between("time, s", 0.0, 5.0);
        let mut plot = Plot::from_parts("over time".to_owned(), x, vec![panel(), panel()]).wide();
        plot.slots = vec![Slot { from: 0.0, to: 1.0, words: "0–1 s: <script>".to_owned() }];
        let drawn = plot.draw().into_string();
        assert_eq!(drawn.matches("requests/s &lt;i&gt;").count(), 2);
        assert!(drawn.contains("<title>0–1 s: &lt;script&gt;</title>"), "{drawn}");
    }

    #[test]
    fn rows_have_their_intervals_along_the_axis() {
        let rows = ["A", "B"].map(|name| Row::new(name, format!("{name}: <b>")));
        let point = |y: f64| Point { low: Some(-1.0), high: Some(2.0), ..Point::at(1.0, y, String::new()) };
        let series = Series::points("", Palette::First, LineStyle::None, vec![point(0.0), point(1.0)]);
        let x = Axis::around("change, %", [-1.0, 2.0]);
        let plot = Plot::rows("changes".to_owned(), x, rows.into(), vec![series])
            .with_rules([ReferenceLine::Place(0.0, "no change".to_owned())]);
        let drawn = plot.draw().into_string();
        assert!(drawn.contains("<title>A: &lt;b&gt;</title>") && drawn.contains("<title>no change</title>"));
        assert_eq!(drawn.matches("class=\"whisker i0\"").count(), 2);
    }

    #[test]
    fn names_that_differ_at_their_ends_keep_these() {
        let names = |names: [&'static str; 2]| shortened(names.into_iter(), 8);
        assert_eq!(names(["chat-sweep-0426", "chat-sweep-0427"]), ["…ep-0426", "…ep-0427"]);
        assert_eq!(names(["short", "a much longer one"]), ["short", "a much …"]);
        assert_eq!(names(["same of both", "same of both"]), ["same of…", "same of…"]);
    }
}
