//! Lines and points over two axes.

use maud::{Markup, html};

use super::axis::Axis;
use super::ink::Ink;

/// Width of a chart; with its height the units of everything in it. A page scales it to its column.
pub(super) const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 44.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 16.0;
/// About how wide a character is.
pub(super) const CHARACTER: f64 = 7.0;

/// A chart in the making.
pub(crate) struct Plot {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) shade: Option<Shade>,
}

/// Points that belong together.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    /// Whether a line joins the points, in their order.
    pub(crate) line: Line,
    pub(crate) points: Vec<Point>,
}

/// How points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Solid,
    Dashed,
    None,
}

/// A value with its interval.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Whether the value is known only to be at least `y`.
    pub(crate) open_above: bool,
    /// Its figures in words.
    pub(crate) words: String,
}

/// A line across the chart, with its label.
pub(crate) enum Rule {
    /// At a height: a bound.
    Height(f64, String),
    /// At a place along the x axis.
    Place(f64, String),
}

/// A stretch of the x axis that stands out.
pub(crate) struct Shade {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) label: String,
}

impl Plot {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let legend = self.legend();
        let top = 24.0 + legend.1;
        let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - top);
        let across = |x: f64| LEFT + self.x.place(x) * width;
        let up = |y: f64| top + (1.0 - self.y.place(y)) * height;
        let (right, bottom) = (LEFT + width, top + height);
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="group" aria-label=(self.description) {
                desc { (self.description) }
                @if let Some(Shade { from, to, label }) = &self.shade {
                    @let (from, to) = (across(*from), across(*to));
                    rect class="shade" x=(n(from)) y=(n(top)) width=(n((to - from).max(1.5))) height=(n(height)) {
                        title { (label) }
                    }
                }
                @for (place, label) in self.y.ticks() {
                    @let y = top + (1.0 - place) * height;
                    line class="grid" x1=(n(LEFT)) x2=(n(right)) y1=(n(y)) y2=(n(y)) {}
                    text class="tick" x=(n(LEFT - 6.0)) y=(n(y + 4.0)) text-anchor="end" { (label) }
                }
                @for (place, label) in apart(self.x.ticks(), width) {
                    @let x = LEFT + place * width;
                    line class="axis" x1=(n(x)) x2=(n(x)) y1=(n(bottom)) y2=(n(bottom + 4.0)) {}
                    text class="tick" x=(n(x)) y=(n(bottom + 17.0)) text-anchor="middle" { (label) }
                }
                line class="axis" x1=(n(LEFT)) x2=(n(right)) y1=(n(bottom)) y2=(n(bottom)) {}
                text class="title" x="2" y="13" { (self.y.title()) }
                text class="title" x=(n(right)) y=(n(HEIGHT - 6.0)) text-anchor="end" { (self.x.title()) }
                (legend.0)
                @for rule in &self.rules { (draw_rule(rule, &across, &up, (top, bottom, right))) }
                @for series in &self.series { (series.draw(&across, &up)) }
            }
        }
    }

    /// Names of the series beside their shapes, in as many lines as they need, and the height of these; no name is needed
    /// for one series.
    fn legend(&self) -> (Markup, f64) {
        if self.series.len() < 2 {
            return (html! {}, 0.0);
        }
        let (mut x, mut y) = (8.0, 30.0);
        let mut placed = Vec::new();
        for series in &self.series {
            let name = cut(&series.name, ((WIDTH - RIGHT - 26.0) / CHARACTER) as usize);
            let length = 18.0 + name.chars().count() as f64 * CHARACTER;
            if x + length > WIDTH - RIGHT && x > 8.0 {
                (x, y) = (8.0, y + LINE);
            }
            placed.push((series.ink, name, x, y));
            x += length + 12.0;
        }
        let drawn = html! {
            @for (ink, name, x, y) in &placed {
                (ink.mark((x + 4.0, y - 4.0), false))
                text class="legend" x=(n(x + 14.0)) y=(n(*y)) { (name) }
            }
        };
        (drawn, y - 30.0 + LINE)
    }
}

impl Series {
    fn draw(&self, across: &impl Fn(f64) -> f64, up: &impl Fn(f64) -> f64) -> Markup {
        let class = self.ink.class();
        let joined: Vec<String> =
            self.points.iter().map(|point| format!("{:.1},{:.1}", across(point.x), up(point.y))).collect();
        html! {
            @if self.line != Line::None && joined.len() > 1 {
                @let dashes = if self.line == Line::Dashed { " dashed" } else { "" };
                polyline class={ "line " (class) (dashes) } points=(joined.join(" ")) {}
            }
            @for point in &self.points {
                @let (x, y) = (across(point.x), up(point.y));
                g {
                    title { (point.words) }
                    @if let Some((low, high)) = point.low.zip(point.high) {
                        path class={ "whisker " (class) }
                            d=(format!("M{0:.1} {1:.1}V{2:.1}m-3 0h6M{3:.1} {1:.1}h6", x, up(low), up(high), x - 3.0)) {}
                    }
                    @if self.ink != Ink::Faint { (self.ink.mark((x, y), point.open_above)) }
                    circle class="hit" cx=(n(x)) cy=(n(y)) r="10" {}
                }
            }
        }
    }
}

fn draw_rule(
    rule: &Rule,
    across: &impl Fn(f64) -> f64,
    up: &impl Fn(f64) -> f64,
    (top, bottom, right): (f64, f64, f64),
) -> Markup {
    match rule {
        Rule::Height(height, label) => {
            let y = up(*height);
            // Under the line where there is no room above it.
            let text = if y < top + LINE { y + 13.0 } else { y - 5.0 };
            html! {
                line class="rule" x1=(n(LEFT)) x2=(n(right)) y1=(n(y)) y2=(n(y)) {}
                text class="note" x=(n(right - 4.0)) y=(n(text)) text-anchor="end" { (label) }
            }
        }
        Rule::Place(place, label) => {
            let x = across(*place);
            let (anchor, shift) = if x > WIDTH * 0.7 { ("end", -5.0) } else { ("start", 5.0) };
            html! {
                line class="rule" x1=(n(x)) x2=(n(x)) y1=(n(top)) y2=(n(bottom)) {}
                text class="note" x=(n(x + shift)) y=(n(top + 11.0)) text-anchor=(anchor) { (label) }
            }
        }
    }
}

/// A name no longer than its room, in characters.
pub(super) fn cut(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// A coordinate: a tenth of a unit is finer than anybody sees.
pub(super) fn n(value: f64) -> String {
    format!("{value:.1}")
}

/// Of `ticks`, ascending, those whose labels do not run into the one before them on an axis so wide.
fn apart(ticks: Vec<(f64, String)>, width: f64) -> Vec<(f64, String)> {
    let mut taken = f64::NEG_INFINITY;
    let clear = |(place, label): &(f64, String)| {
        let half = label.chars().count() as f64 * CHARACTER / 2.0;
        let is_clear = place * width - half >= taken;
        if is_clear {
            taken = place * width + half + CHARACTER;
        }
        is_clear
    };
    ticks.into_iter().filter(clear).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(name: &str) -> Plot {
        let point = |x: f64| Point {
            x,
            y: x * x,
            low: Some(x),
            high: Some(2.0 * x * x),
            open_above: x > 3.0,
            words: format!("{x}/s <b>"),
        };
        let series = |name: &str, ink| Series {
            name: name.to_owned(),
            ink,
            line: Line::Solid,
            points: vec![point(1.0), point(4.0)],
        };
        Plot {
            description: "TTFT over rate".to_owned(),
            x: Axis::from_zero("requests/s", [1.0, 4.0]),
            y: Axis::from_zero("TTFT, ms", [32.0]),
            series: vec![series(name, Ink::First), series("p99", Ink::Second)],
            rules: vec![Rule::Height(20.0, "p99 ttft < 20ms".to_owned())],
            shade: Some(Shade { from: 2.0, to: 3.0, label: "bracket".to_owned() }),
        }
    }

    #[test]
    fn labels_do_not_run_into_one_another() {
        let ticks = [(0.0, "500"), (0.1, "1,000"), (0.13, "2,000"), (0.3, "5,000")];
        let left = apart(ticks.map(|(place, label)| (place, label.to_owned())).to_vec(), 400.0);
        assert_eq!(
            left.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(),
            ["500", "1,000", "5,000"]
        );
    }

    #[test]
    fn every_text_is_escaped_and_every_point_told() {
        let drawn = plot("<script>alert(1)</script>").draw().into_string();
        assert!(!drawn.contains("<script>") && drawn.contains("&lt;script&gt;"), "{drawn}");
        assert!(
            drawn.contains("p99 ttft &lt; 20ms") && drawn.contains("<title>1/s &lt;b&gt;</title>"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("class=\"hit\"").count(), 4);
        assert!(drawn.contains("hollow"), "a value that is only bounded has a shape of its own");
    }

    #[test]
    fn nothing_is_drawn_outside_the_chart() {
        let drawn =
            plot("a series with a name that is so long that the legend needs a second line of its own")
                .draw()
                .into_string();
        for (attribute, most) in [(" x=\"", WIDTH), (" cx=\"", WIDTH), (" y=\"", HEIGHT), (" cy=\"", HEIGHT)]
        {
            for rest in drawn.split(attribute).skip(1) {
                let value: f64 = rest.split('"').next().unwrap().parse().unwrap();
                assert!((0.0..=most).contains(&value), "{attribute}{value}");
            }
        }
    }
}
