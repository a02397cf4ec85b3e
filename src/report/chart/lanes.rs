//! Rows of stretches one after another under one axis of time: a Gantt chart.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{BOTTOM, RIGHT, WIDE, apart, legend, n, x_axis};
use super::ink::{Ink, Sign};

/// Height of a row.
const LANE: f64 = 13.0;
/// Room for the names of rows.
const LEFT: f64 = 150.0;

/// A chart in the making.
pub(crate) struct Lanes {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) axis: Axis,
    /// What each ink stands for.
    pub(crate) names: Vec<(Ink, &'static str)>,
    pub(crate) shown: Vec<Lane>,
}

/// A row.
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) ending: Ending,
    /// Its figures in words.
    pub(crate) words: String,
}

/// A stretch of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) ink: Ink,
}

/// How a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// Nobody knows how much further it would have gone.
    CutOff,
    /// It failed.
    Failed,
}

impl Lanes {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let names: Vec<_> = self.names.iter().map(|(ink, name)| (Sign::Bar(*ink), *name)).collect();
        let (names, names_height) = legend(&names, WIDE);
        let top = 24.0 + names_height;
        let width = WIDE - LEFT - RIGHT;
        let bottom = top + self.shown.len() as f64 * LANE;
        let across = |x: f64| LEFT + self.axis.place(x) * width;
        html! {
            svg.wide viewBox=(format!("0 0 {WIDE} {:.1}", bottom + BOTTOM)) role="img" aria-label=(self.description) {
                (names)
                @for (place, _) in apart(self.axis.ticks(), width) {
                    @let x = LEFT + place * width;
                    line class="grid" x1=(n(x)) x2=(n(x)) y1=(n(top)) y2=(n(bottom)) {}
                }
                (x_axis(&self.axis, (LEFT, width), bottom))
                @for (place, lane) in self.shown.iter().enumerate() {
                    (lane.draw(&across, top + place as f64 * LANE))
                }
            }
        }
    }
}

impl Lane {
    fn draw(&self, across: &impl Fn(f64) -> f64, top: f64) -> Markup {
        let middle = top + LANE / 2.0;
        let end = self.stretches.last().map_or(LEFT, |stretch| across(stretch.to));
        html! {
            g {
                title { (self.words) }
                text class="lane" x=(n(LEFT - 8.0)) y=(n(middle + 3.0)) text-anchor="end" { (self.name) }
                @for stretch in &self.stretches {
                    @let (from, to) = (across(stretch.from), across(stretch.to));
                    rect class={ "fill " (stretch.ink.class()) } x=(n(from)) y=(n(top + 2.0))
                        width=(n((to - from).max(0.3))) height=(n(LANE - 4.0)) {}
                }
                @match self.ending {
                    Ending::Whole => {}
                    Ending::CutOff => path class="cross faint" d=(format!("M{:.1} {:.1}l4 3.5l-4 3.5", end + 2.0, middle - 3.5)) {},
                    Ending::Failed => (Ink::Failure.mark((end + 5.0, middle), false)),
                }
                rect class="hit" x="0" y=(n(top)) width=(n(WIDE)) height=(n(LANE)) {}
            }
        }
    }
}
