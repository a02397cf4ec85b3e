//! The ground of a chart over two axes: grid, ticks, titles, names of series, stretches that stand out, bounds.

use maud::{Markup, html};

use super::axis::Axis;
use super::ink::{Ink, Sign};
use super::rules::{self, Rule};

pub(super) use crate::report::grid::cut;

/// Width of a chart in a column; with its height the units of everything in it. A page scales it to its column.
pub(super) const WIDTH: f64 = 440.0;
/// Width of a chart that takes the whole page.
pub(super) const WIDE: f64 = 900.0;
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = 16.0;
/// Room for ticks and title of the x axis.
pub(super) const BOTTOM: f64 = 44.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 16.0;
/// About how wide a character is.
pub(super) const CHARACTER: f64 = 7.0;

/// A stretch of the x axis that stands out.
pub(crate) struct Shade {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) kind: ShadeKind,
    pub(crate) label: String,
}

/// Why a stretch stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShadeKind {
    /// It is what to look at.
    Marked,
    /// What lies in it does not count.
    Uncounted,
    /// What lies in it cannot be trusted.
    Doubtful,
}

impl ShadeKind {
    const fn class(self) -> &'static str {
        match self {
            Self::Marked => "shade",
            Self::Uncounted => "uncounted",
            Self::Doubtful => "doubtful",
        }
    }
}

impl Shade {
    /// From `top` to `bottom` of a chart.
    pub(super) fn draw(&self, across: &impl Fn(f64) -> f64, (top, bottom): (f64, f64)) -> Markup {
        let (from, to) = (across(self.from), across(self.to));
        html! {
            rect class=(self.kind.class()) x=(n(from)) y=(n(top)) width=(n((to - from).max(1.5))) height=(n(bottom - top)) {
                title { (self.label) }
            }
        }
    }
}

/// What a chart stands on.
pub(super) struct Ground<'a> {
    pub(super) description: &'a str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
    /// Names of the series; no name is needed for one.
    pub(super) names: Vec<(Ink, &'a str)>,
    pub(super) shades: &'a [Shade],
    pub(super) rules: &'a [Rule],
    /// Lines through points, by their values, that labels of rules keep off.
    pub(super) drawn: Vec<Vec<(f64, f64)>>,
}

/// Where values lie on a chart.
pub(super) struct Field<'a> {
    x: &'a Axis,
    y: &'a Axis,
    width: f64,
    height: f64,
    top: f64,
}

impl Field<'_> {
    pub(super) fn across(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * self.width
    }

    pub(super) fn up(&self, y: f64) -> f64 {
        self.top + (1.0 - self.y.place(y)) * self.height
    }

    pub(super) fn right(&self) -> f64 {
        LEFT + self.width
    }

    pub(super) fn top(&self) -> f64 {
        self.top
    }

    /// Whether a height lies on the chart, not beyond it.
    pub(super) fn shows(&self, y: f64) -> bool {
        self.y.holds(y)
    }

    /// Where the chart ends below.
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl Ground<'_> {
    /// The chart as SVG, with `drawn` on its ground.
    pub(super) fn draw(&self, drawn: impl FnOnce(&Field<'_>) -> Markup) -> Markup {
        let names: Vec<_> = self.names.iter().map(|(ink, name)| (Sign::Mark(*ink), *name)).collect();
        let (names, names_height) = legend(&names, self.width);
        let top = 30.0 + names_height;
        let (width, height) = (self.width - LEFT - RIGHT, self.height - BOTTOM - top);
        let field = Field { x: self.x, y: self.y, width, height, top };
        let (right, bottom) = (LEFT + width, top + height);
        html! {
            svg viewBox=(format!("0 0 {} {}", self.width, self.height)) role="img" aria-label=(self.description) {
                @for shade in self.shades { (shade.draw(&|x| field.across(x), (top, bottom))) }
                @for (place, label) in self.y.ticks() {
                    @let y = top + (1.0 - place) * height;
                    line class="grid" x1=(n(LEFT)) x2=(n(right)) y1=(n(y)) y2=(n(y)) {}
                    text class="tick" x=(n(LEFT - 6.0)) y=(n(y + 4.0)) text-anchor="end" { (label) }
                }
                (x_axis(self.x, (LEFT, width), bottom))
                text class="title" x="2" y="13" { (self.y.title()) }
                (names)
                (drawn(&field))
                (rules::draw(self.rules, &self.drawn, &field))
            }
        }
    }
}

/// The x axis under a chart: its line, its ticks, its title.
pub(super) fn x_axis(axis: &Axis, (left, width): (f64, f64), bottom: f64) -> Markup {
    html! {
        @for (place, label) in apart(axis.ticks(), width) {
            @let x = left + place * width;
            // At the end a label stands as far to the right as there is room.
            @let half = label.chars().count() as f64 * CHARACTER / 2.0;
            line class="axis" x1=(n(x)) x2=(n(x)) y1=(n(bottom)) y2=(n(bottom + 4.0)) {}
            text class="tick" x=(n(x.min(left + width + RIGHT - half))) y=(n(bottom + 17.0)) text-anchor="middle" { (label) }
        }
        line class="axis" x1=(n(left)) x2=(n(left + width)) y1=(n(bottom)) y2=(n(bottom)) {}
        text class="title" x=(n(left + width)) y=(n(bottom + BOTTOM - 6.0)) text-anchor="end" { (axis.title()) }
    }
}

/// Names of series beside their shapes, in as many lines as they need, and the height of these.
pub(super) fn legend(names: &[(Sign, &str)], width: f64) -> (Markup, f64) {
    if names.len() < 2 {
        return (html! {}, 0.0);
    }
    let (mut x, mut y) = (8.0, 30.0);
    let mut placed = Vec::new();
    for (sign, name) in names {
        let name = cut(name, ((width - RIGHT - 26.0) / CHARACTER) as usize);
        let length = 18.0 + name.chars().count() as f64 * CHARACTER;
        if x + length > width - RIGHT && x > 8.0 {
            (x, y) = (8.0, y + LINE);
        }
        placed.push((sign, name, x, y));
        x += length + 12.0;
    }
    let drawn = html! {
        @for (sign, name, x, y) in &placed {
            (sign.draw((x + 4.0, y - 4.0)))
            text class="legend" x=(n(x + 14.0)) y=(n(*y)) { (name) }
        }
    };
    (drawn, y - 30.0 + LINE)
}

/// A coordinate: a tenth of a unit is finer than anybody sees.
pub(super) fn n(value: f64) -> String {
    format!("{value:.1}")
}

/// Of `ticks`, ascending, those whose labels do not run into the one before them on an axis so wide.
pub(super) fn apart(ticks: Vec<(f64, String)>, width: f64) -> Vec<(f64, String)> {
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

    #[test]
    fn labels_do_not_run_into_one_another() {
        let ticks = [(0.0, "500"), (0.1, "1,000"), (0.13, "2,000"), (0.3, "5,000")];
        let left = apart(ticks.map(|(place, label)| (place, label.to_owned())).to_vec(), 400.0);
        assert_eq!(
            left.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(),
            ["500", "1,000", "5,000"]
        );
    }
}
