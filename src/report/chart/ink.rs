//! The colours and shapes by which series are told apart.

use maud::{Markup, html};

/// What a series is drawn in: a colour of the page's palette (Okabe and Ito, *Color Universal Design*, 2008, which
/// colour-blind people tell apart) and a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ink {
    First,
    Second,
    Third,
    Fourth,
    /// What is there to be compared with, not looked at.
    Faint,
    /// What went wrong.
    Failure,
}

/// How the name of something that is drawn is told apart from the others: by what it looks like on the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Points.
    Mark(Ink),
    /// A line, dashed where it is the second.
    Line(Ink),
    /// A line that goes by steps.
    Steps(Ink),
    /// A filled stretch.
    Area(Ink),
    /// A bar.
    Bar(Ink),
}

impl Sign {
    /// Around a point.
    pub(super) fn draw(self, (x, y): (f64, f64)) -> Markup {
        let (left, top) = (format!("{:.1}", x - 6.0), format!("{:.1}", y - 4.0));
        match self {
            Self::Mark(ink) => ink.mark((x, y), false),
            Self::Line(ink) => {
                html! { path class={ "line " (ink.line_class()) } d=(format!("M{left} {y:.1}h12")) {} }
            }
            Self::Steps(ink) => {
                html! { path class={ "line " (ink.class()) } d=(format!("M{left} {y:.1}h12")) {} }
            }
            Self::Area(ink) => {
                html! { rect class={ "area " (ink.class()) } x=(left) y=(top) width="12" height="8" {} }
            }
            Self::Bar(ink) => {
                html! { rect class={ "fill " (ink.class()) } x=(left) y=(top) width="12" height="8" {} }
            }
        }
    }
}

impl Ink {
    /// Those of series, in their order.
    pub(crate) const SERIES: [Self; 4] = [Self::First, Self::Second, Self::Third, Self::Fourth];

    /// Its class in the page's style.
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

    /// The class of a line without marks in it: the second one is dashed, for who cannot tell the colours.
    pub(super) const fn line_class(self) -> &'static str {
        match self {
            Self::Second => "i1 dash",
            other => other.class(),
        }
    }

    /// Its shape around a point; hollow and pointing up where the value is known only to lie above.
    pub(super) fn mark(self, (x, y): (f64, f64), open_above: bool) -> Markup {
        let class = self.class();
        if open_above {
            let arrow = format!("M{:.1} {:.1}l5 8h-10z", x, y - 5.0);
            return html! { path class={ "mark hollow " (class) } d=(arrow) {} };
        }
        let at = |path: &str| format!("M{x:.1} {y:.1}{path}");
        match self {
            Self::First | Self::Faint => {
                html! { circle class={ "mark " (class) } cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3.6" {} }
            }
            Self::Second => html! { path class={ "mark " (class) } d=(at("m-3.5 -3.5h7v7h-7z")) {} },
            Self::Third => {
                html! { path class={ "mark " (class) } d=(at("m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z")) {} }
            }
            Self::Fourth => html! { path class={ "mark " (class) } d=(at("m0 -4.6l4.6 8h-9.2z")) {} },
            Self::Failure => {
                html! { path class={ "cross " (class) } d=(at("m-3.6 -3.6l7.2 7.2m0 -7.2l-7.2 7.2")) {} }
            }
        }
    }
}
