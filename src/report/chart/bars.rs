//! Bars that stand on the x axis: a histogram.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{Field, Ground, WIDTH, n};
use super::rules::Rule;

const HEIGHT: f64 = 300.0;

/// A chart in the making.
pub(crate) struct Bars {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) shown: Vec<Bar>,
    pub(crate) rules: Vec<Rule>,
}

/// A bar.
pub(crate) struct Bar {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) height: f64,
    /// Its figures in words.
    pub(crate) words: String,
}

impl Bars {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let ground = Ground {
            description: &self.description,
            width: WIDTH,
            height: HEIGHT,
            x: &self.x,
            y: &self.y,
            names: Vec::new(),
            shades: &[],
            rules: &self.rules,
            drawn: Vec::new(),
        };
        ground.draw(|field| html! { @for bar in &self.shown { (bar.draw(field)) } })
    }
}

impl Bar {
    fn draw(&self, field: &Field<'_>) -> Markup {
        let (left, right, top) = (field.across(self.from), field.across(self.to), field.up(self.height));
        html! {
            rect class="fill i0" x=(n(left)) y=(n(top)) width=(n((right - left - 0.6).max(0.8)))
                height=(n((field.bottom() - top).max(1.0))) { title { (self.words) } }
        }
    }
}
