//! Many points over two axes, as wide as the page.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{Field, Ground, Shade, WIDE};
use super::ink::Ink;
use super::rules::Rule;

const HEIGHT: f64 = 340.0;

/// A chart in the making.
pub(crate) struct Cloud {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// What each ink stands for.
    pub(crate) names: Vec<(Ink, String)>,
    pub(crate) specks: Vec<Speck>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) shades: Vec<Shade>,
}

/// A point among many.
pub(crate) struct Speck {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ink: Ink,
    /// Whether the value is known only to be at least `y`.
    pub(crate) open_above: bool,
    /// Its figures in words.
    pub(crate) words: String,
}

impl Cloud {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let ground = Ground {
            description: &self.description,
            width: WIDE,
            height: HEIGHT,
            x: &self.x,
            y: &self.y,
            names: self.names.iter().map(|(ink, name)| (*ink, name.as_str())).collect(),
            shades: &self.shades,
            rules: &self.rules,
            drawn: self.specks.iter().map(|speck| vec![(speck.x, speck.y)]).collect(),
        };
        ground.draw(|field| html! { @for speck in &self.specks { (speck.draw(field)) } })
    }
}

impl Speck {
    fn draw(&self, field: &Field<'_>) -> Markup {
        let place = (field.across(self.x), field.up(self.y));
        html! { g.speck { title { (self.words) } (self.ink.mark(place, self.open_above)) } }
    }
}
