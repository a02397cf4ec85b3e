//! Curves of many points over two axes, of which a few are marked and told.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{Field, Ground, WIDTH, n};
use super::ink::Ink;
use super::rules::Rule;

const HEIGHT: f64 = 300.0;

/// A chart in the making.
pub(crate) struct Curves {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) shown: Vec<Curve>,
    pub(crate) rules: Vec<Rule>,
}

/// A curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    /// Its points, along the x axis.
    pub(crate) through: Vec<(f64, f64)>,
    /// Points of it that are marked, each with its figures in words.
    pub(crate) told: Vec<((f64, f64), String)>,
}

impl Curves {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let ground = Ground {
            description: &self.description,
            width: WIDTH,
            height: HEIGHT,
            x: &self.x,
            y: &self.y,
            names: self.shown.iter().map(|curve| (curve.ink, curve.name.as_str())).collect(),
            shades: &[],
            rules: &self.rules,
            drawn: self.shown.iter().map(|curve| curve.through.clone()).collect(),
        };
        ground.draw(|field| html! { @for curve in &self.shown { (curve.draw(field)) } })
    }
}

impl Curve {
    fn draw(&self, field: &Field<'_>) -> Markup {
        let at = |(x, y): (f64, f64)| (field.across(x), field.up(y));
        let through: Vec<String> =
            self.through.iter().map(|point| at(*point)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        html! {
            polyline class={ "line " (self.ink.class()) } points=(through.join(" ")) {}
            @for (point, words) in &self.told {
                @let (x, y) = at(*point);
                g {
                    title { (words) }
                    (self.ink.mark((x, y), false))
                    circle class="hit" cx=(n(x)) cy=(n(y)) r="8" {}
                }
            }
        }
    }
}
