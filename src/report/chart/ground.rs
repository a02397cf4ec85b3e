//! The ground of a chart over two axes: grid, ticks, titles, names of series, stretches that stand out, bounds.

use maud::{Markup, html};

use super::axis::Axis;
use super::ink::Ink;

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

    /// Where the chart ends below.
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl Ground<'_> {
    /// The chart as SVG, with `drawn` on its ground.
    pub(super) fn draw(&self, drawn: impl FnOnce(&Field<'_>) -> Markup) -> Markup {
        let (names, names_height) = legend(&self.names, self.width);
        let top = 24.0 + names_height;
        let (width, height) = (self.width - LEFT - RIGHT, self.height - BOTTOM - top);
        let field = Field { x: self.x, y: self.y, width, height, top };
        let (right, bottom) = (LEFT + width, top + height);
        html! {
            svg viewBox=(format!("0 0 {} {}", self.width, self.height)) role="group" aria-label=(self.description) {
                desc { (self.description) }
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
                @for (place, rule) in self.rules.iter().enumerate() {
                    (draw_rule(rule, place, &field, (self.width, right)))
                }
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
pub(super) fn legend(names: &[(Ink, &str)], width: f64) -> (Markup, f64) {
    if names.len() < 2 {
        return (html! {}, 0.0);
    }
    let (mut x, mut y) = (8.0, 30.0);
    let mut placed = Vec::new();
    for (ink, name) in names {
        let name = cut(name, ((width - RIGHT - 26.0) / CHARACTER) as usize);
        let length = 18.0 + name.chars().count() as f64 * CHARACTER;
        if x + length > width - RIGHT && x > 8.0 {
            (x, y) = (8.0, y + LINE);
        }
        placed.push((ink, name, x, y));
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

/// Labels of rules that follow one another stand on lines of their own, so that none hides another.
fn draw_rule(rule: &Rule, place: usize, field: &Field<'_>, (width, right): (f64, f64)) -> Markup {
    let (top, bottom) = (field.top, field.bottom());
    match rule {
        Rule::Height(height, label) => {
            let y = field.up(*height);
            // Under the line where there is no room above it.
            let text = if y < top + LINE { y + 13.0 } else { y - 5.0 };
            html! {
                line class="rule" x1=(n(LEFT)) x2=(n(right)) y1=(n(y)) y2=(n(y)) {}
                text class="note" x=(n(right - 4.0)) y=(n(text)) text-anchor="end" { (label) }
            }
        }
        Rule::Place(at, label) => {
            let x = field.across(*at);
            let line = (place % 4) as f64 * 13.0;
            let (anchor, shift) = if x > width * 0.7 { ("end", -5.0) } else { ("start", 5.0) };
            html! {
                line class="rule" x1=(n(x)) x2=(n(x)) y1=(n(top)) y2=(n(bottom)) {}
                text class="note" x=(n(x + shift)) y=(n(top + 11.0 + line)) text-anchor=(anchor) { (label) }
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
