//! The colours and shapes by which series are distinguished.

use maud::{Markup, html};

/// A colour that colour-blind readers distinguish, with a shape of its own. The palette is that of Okabe and Ito
/// (*Color Universal Design*, 2008).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Palette {
    First,
    Second,
    Third,
    Fourth,
    /// Faint colour of what is drawn for comparison, in the background.
    Faint,
    /// Failures.
    Failure,
}

/// The shape beside a name of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Points.
    Mark(Palette),
    /// A line, dashed where it is the second.
    Line(Palette),
    /// A line that goes by steps.
    Steps(Palette),
    /// A filled stretch.
    Area(Palette),
    /// A bar.
    Bar(Palette),
}

impl Sign {
    /// Around a point.
    pub(super) fn draw(self, (x, y): (f64, f64)) -> Markup {
        let (left, top) = (format!("{:.1}", x - 6.0), format!("{:.1}", y - 4.0));
        let line = |class: &str| html! { path class={ "line " (class) } d=(format!("M{left} {y:.1}h12")) {} };
        let stretch = |form: &str, palette: Palette| {
            html! { rect class={ (form) " " (palette.class()) } x=(left) y=(top) width="12" height="8" {} }
        };
        match self {
            Self::Mark(palette) => palette.mark((x, y)),
            Self::Line(palette) => line(palette.line_class()),
            Self::Steps(palette) => line(palette.class()),
            Self::Area(palette) => stretch("area", palette),
            Self::Bar(palette) => stretch("fill", palette),
        }
    }
}

impl Palette {
    /// Colours of series, in their order.
    pub(crate) const SERIES: [Self; 4] = [Self::First, Self::Second, Self::Third, Self::Fourth];

    /// Returns the colour's class in the page's style.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::First => "i0",
            Self::Second => "i1",
            Self::Third => "i2",
            Self::Fourth => "i3",
            Self::Faint => "faint",
            Self::Failure => "failure",
        }
    }

    /// Returns the class of a line without marks in it. The second one is dashed for readers who cannot distinguish the
    /// colours.
    pub(super) const fn line_class(self) -> &'static str {
        match self {
            Self::Second => "i1 dash",
            other => other.class(),
        }
    }

    /// Draws a hollow arrow to larger values. The value is only a lower bound. The arrow points upward on a scale and
    /// to the right in a row.
    pub(super) fn arrow(self, (x, y): (f64, f64), is_in_row: bool) -> Markup {
        let arrow = if is_in_row {
            format!("M{:.1} {y:.1}l-8 5v-10z", x + 5.0)
        } else {
            format!("M{x:.1} {:.1}l5 8h-10z", y - 5.0)
        };
        html! { path class={ "mark hollow " (self.class()) } d=(arrow) {} }
    }

    /// Draws the colour's shape around a point.
    pub(super) fn mark(self, (x, y): (f64, f64)) -> Markup {
        let (form, path) = match self {
            Self::First | Self::Faint => {
                let (cx, cy) = (format!("{x:.1}"), format!("{y:.1}"));
                return html! { circle class={ "mark " (self.class()) } cx=(cx) cy=(cy) r="3.6" {} };
            }
            Self::Second => ("mark", "m-3.5 -3.5h7v7h-7z"),
            Self::Third => ("mark", "m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z"),
            Self::Fourth => ("mark", "m0 -4.6l4.6 8h-9.2z"),
            Self::Failure => ("cross", "m-3.6 -3.6l7.2 7.2m0 -7.2l-7.2 7.2"),
        };
        html! { path class={ (form) " " (self.class()) } d=(format!("M{x:.1} {y:.1}{path}")) {} }
    }
}
