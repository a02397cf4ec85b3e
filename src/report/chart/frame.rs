//! The frame of a panel: where values lie, axes with their ticks and titles, the legend.

use maud::{Markup, html};

use super::axis::Axis;
use super::palette::Sign;

use crate::units::fitted;

/// Width of a chart in a column. With the height it gives the units of everything in the chart. A page scales it to its
/// column.
pub(super) const COLUMN: f64 = 440.0;
/// Width of a chart that takes the whole page.
pub(super) const PAGE: f64 = 900.0;
/// Room for the ticks of the y axis.
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = 16.0;
/// Room for ticks and title of the x axis.
pub(super) const BOTTOM: f64 = 44.0;
/// Height of a line of text.
const LINE: f64 = 16.0;
/// Approximate width of a character.
pub(super) const CHARACTER: f64 = 7.0;
/// Approximate width of a character of a legend on a narrow page. Its letters are larger.
const LEGEND_CHARACTER: f64 = 8.0;

/// Places of values on a panel.
pub(super) struct Frame<'a> {
    pub(super) x: &'a Axis,
    /// `None` where the panel has rows.
    pub(super) y: Option<&'a Axis>,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Height of a row; 0 on a scale.
    pub(super) row: f64,
}

impl Frame<'_> {
    pub(super) fn across(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.right - self.left)
    }

    /// The height of a value, or the middle of a row.
    pub(super) fn up(&self, y: f64) -> f64 {
        match self.y {
            Some(axis) => self.top + (1.0 - axis.place(y)) * (self.bottom - self.top),
            None => self.top + (y + 0.5) * self.row,
        }
    }

    pub(super) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.across(x), self.up(y))
    }

    /// Draws the y axis with grid lines, ticks and title. Over rows it draws the grid of the x axis.
    pub(super) fn grid(&self, title_y: f64, every: usize) -> Markup {
        html! {
            @if let Some(axis) = self.y {
                @for (place, label) in axis.ticks().into_iter().step_by(every) {
                    @let y = self.top + (1.0 - place) * (self.bottom - self.top);
                    line class="grid" x1=(n(self.left)) x2=(n(self.right)) y1=(n(y)) y2=(n(y)) {}
                    text class="tick" x=(n(self.left - 6.0)) y=(n(y + 4.0)) text-anchor="end" { (label) }
                }
                text class="title" x="2" y=(n(title_y)) { (axis.title()) }
            } @else {
                @for (place, _) in apart(self.x.ticks(), self.right - self.left) {
                    @let x = self.left + place * (self.right - self.left);
                    line class="grid" x1=(n(x)) x2=(n(x)) y1=(n(self.top)) y2=(n(self.bottom)) {}
                }
            }
            line class="axis" x1=(n(self.left)) x2=(n(self.right)) y1=(n(self.bottom)) y2=(n(self.bottom)) {}
        }
    }

    /// The x axis: its ticks and its title.
    pub(super) fn x_axis(&self) -> Markup {
        let (left, width, bottom) = (self.left, self.right - self.left, self.bottom);
        html! {
            @for (place, label) in apart(self.x.ticks(), width) {
                @let x = left + place * width;
                // At the end a label stands as far to the right as there is room.
                @let half = label.chars().count() as f64 * CHARACTER / 2.0;
                line class="axis" x1=(n(x)) x2=(n(x)) y1=(n(bottom)) y2=(n(bottom + 4.0)) {}
                text class="tick" x=(n(x.min(left + width + RIGHT - half))) y=(n(bottom + 17.0))
                    text-anchor="middle" { (label) }
            }
            text class="title" x=(n(left + width)) y=(n(bottom + BOTTOM - 6.0)) text-anchor="end" { (self.x.title()) }
        }
    }
}

/// Names of series beside their shapes from the line at `top` down. It comes with the height of these lines; one series
/// needs no name.
pub(super) fn legend(names: &[(Sign, &str)], top: f64, width: f64) -> (Markup, f64) {
    if names.len() < 2 {
        return (html! {}, 0.0);
    }
    let (mut x, mut y) = (8.0, top);
    let mut placed = Vec::new();
    for (sign, name) in names {
        let name = fitted(name, ((width - RIGHT - 26.0) / LEGEND_CHARACTER) as usize);
        let length = 18.0 + name.chars().count() as f64 * LEGEND_CHARACTER;
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
    (drawn, y - top + LINE)
}

/// A coordinate: a tenth of a unit is finer than the eye sees.
pub(super) fn n(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns the ticks whose labels do not run into the one before them. `ticks` ascend, and the axis is so wide.
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
        assert_eq!(left.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(), ["500", "1,000", "5,000"]);
    }
}
