//! Lines and points over two axes.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{Field, Ground, Shade, WIDTH, n};
use super::ink::Ink;
use super::rules::Rule;

const HEIGHT: f64 = 300.0;

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

impl Plot {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let ground = Ground {
            description: &self.description,
            width: WIDTH,
            height: HEIGHT,
            x: &self.x,
            y: &self.y,
            names: self.series.iter().map(|series| (series.ink, series.name.as_str())).collect(),
            shades: self.shade.as_slice(),
            rules: &self.rules,
            drawn: self.series.iter().map(Series::places).collect(),
        };
        ground.draw(|field| html! { @for series in &self.series { (series.draw(field)) } })
    }
}

impl Series {
    fn places(&self) -> Vec<(f64, f64)> {
        self.points.iter().map(|point| (point.x, point.y)).collect()
    }

    fn draw(&self, field: &Field<'_>) -> Markup {
        let (across, up) = (|x| field.across(x), |y| field.up(y));
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
                        path class={ "whisker " (class) } d=(whisker(field, x, (low, high))) {}
                    }
                    @if self.ink != Ink::Faint || self.line == Line::None { (self.ink.mark((x, y), point.open_above)) }
                    circle class="hit" cx=(n(x)) cy=(n(y)) r="10" {}
                }
            }
        }
    }
}

/// An interval upright at `x`, with a bar at each end that lies on the chart.
fn whisker(field: &Field<'_>, x: f64, (low, high): (f64, f64)) -> String {
    let bar = |end: f64| {
        if field.shows(end) { format!("M{:.1} {:.1}h6", x - 3.0, field.up(end)) } else { String::new() }
    };
    format!("M{x:.1} {:.1}V{:.1}{}{}", field.up(low), field.up(high), bar(low), bar(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::ShadeKind;

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
            shade: Some(Shade { from: 2.0, to: 3.0, kind: ShadeKind::Marked, label: "bracket".to_owned() }),
        }
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
