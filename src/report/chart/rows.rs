//! Values with intervals in rows under one axis: a forest plot.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{CHARACTER, LINE, WIDTH, apart, cut, legend, n};
use super::ink::{Ink, Sign};

/// Height of a row.
const ROW: f64 = 26.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 14.0;
/// The most room that names get.
const MOST_NAME: f64 = 170.0;

/// A chart in the making.
pub(crate) struct Rows {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) axis: Axis,
    /// What each ink stands for, where rows have two values.
    pub(crate) names: Vec<(Ink, &'static str)>,
    pub(crate) shown: Vec<Row>,
    /// A place of the axis that rows are held against, such as no difference, with its label.
    pub(crate) origin: Option<(f64, String)>,
    /// A stretch of the axis that stands out, such as differences that do not matter, with its label.
    pub(crate) band: Option<(f64, f64, String)>,
}

/// One row.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) value: Option<f64>,
    /// Whether the value is known only to be at least so much.
    pub(crate) open_above: bool,
    /// Another value that it is held against, joined to it by a line.
    pub(crate) against: Option<Against>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// Its figures in words.
    pub(crate) words: String,
}

/// What the value of a row is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Against {
    pub(crate) ink: Ink,
    pub(crate) value: f64,
    /// Whether the value is known only to be at least so much.
    pub(crate) open_above: bool,
}

impl Rows {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let longest = self.shown.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let left = (longest as f64 * CHARACTER + 14.0).clamp(40.0, MOST_NAME);
        let width = WIDTH - left - RIGHT;
        let names: Vec<_> = self.names.iter().map(|(ink, name)| (Sign::Mark(*ink), *name)).collect();
        let (names, names_height) = legend(&names, WIDTH);
        let top = TOP + names_height;
        let bottom = top + self.shown.len() as f64 * ROW;
        let height = bottom + BOTTOM;
        let across = |value: f64| left + self.axis.place(value) * width;
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(self.description) {
                g transform="translate(0 -16)" { (names) }
                @if let Some((from, to, label)) = &self.band {
                    @let (from, to) = (across(*from), across(*to));
                    rect class="shade" x=(n(from)) y=(n(top)) width=(n(to - from)) height=(n(bottom - top)) {
                        title { (label) }
                    }
                    text class="note" x=(n(f64::midpoint(from, to))) y="13" text-anchor="middle" { (label) }
                }
                @for (place, label) in apart(self.axis.ticks(), width) {
                    @let x = left + place * width;
                    line class="grid" x1=(n(x)) x2=(n(x)) y1=(n(top)) y2=(n(bottom)) {}
                    text class="tick" x=(n(x)) y=(n(bottom + 15.0)) text-anchor="middle" { (label) }
                }
                line class="axis" x1=(n(left)) x2=(n(left + width)) y1=(n(bottom)) y2=(n(bottom)) {}
                text class="title" x=(n(left + width)) y=(n(bottom + 15.0 + LINE)) text-anchor="end" { (self.axis.title()) }
                @if let Some((origin, label)) = &self.origin {
                    @let x = across(*origin);
                    line class="rule" x1=(n(x)) x2=(n(x)) y1=(n(top)) y2=(n(bottom)) { title { (label) } }
                }
                @let names = shortened(self.shown.iter().map(|row| row.name.as_str()), ((left - 12.0) / CHARACTER) as usize);
                @for (place, (row, name)) in self.shown.iter().zip(&names).enumerate() {
                    (row.draw(name, &across, left, top + (place as f64 + 0.5) * ROW))
                }
            }
        }
    }
}

impl Row {
    fn draw(&self, name: &str, across: &impl Fn(f64) -> f64, left: f64, y: f64) -> Markup {
        let class = self.ink.class();
        html! {
            g {
                title { (self.words) }
                text class="legend" x=(n(left - 8.0)) y=(n(y + 4.0)) text-anchor="end" { (name) }
                @if let Some((low, high)) = self.low.zip(self.high) {
                    path class={ "whisker " (class) }
                        d=(format!("M{0:.1} {2:.1}H{1:.1}m0 -4v8M{0:.1} {3:.1}v8", across(low), across(high), y, y - 4.0)) {}
                }
                @if let (Some(value), Some(against)) = (self.value, &self.against) {
                    path class="whisker faint" d=(format!("M{:.1} {y:.1}H{:.1}", across(value), across(against.value))) {}
                }
                @if let Some(Against { ink, value, open_above }) = self.against {
                    (ink.mark((across(value), y), open_above))
                }
                @if let Some(value) = self.value { (self.ink.mark((across(value), y), self.open_above)) }
                rect class="hit" x="0" y=(n(y - ROW / 2.0)) width=(n(WIDTH)) height=(n(ROW)) {}
            }
        }
    }
}

/// Names no longer than their room, in characters: cut at their ends, or at their beginnings where only the ends tell them
/// apart.
fn shortened<'a>(names: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let distinct = |names: &[String]| names.iter().collect::<std::collections::BTreeSet<_>>().len();
    let begun: Vec<String> = names.iter().map(|name| cut(name, room)).collect();
    let ended: Vec<String> = names.iter().map(|name| end(name, room)).collect();
    if distinct(&ended) > distinct(&begun) { ended } else { begun }
}

/// The end of a name, no longer than its room.
fn end(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - room.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_at_their_ends_keep_these() {
        let names = |names: [&'static str; 2]| shortened(names.into_iter(), 8);
        assert_eq!(names(["chat-sweep-0426", "chat-sweep-0427"]), ["…ep-0426", "…ep-0427"]);
        assert_eq!(names(["short", "a much longer one"]), ["short", "a much …"]);
        assert_eq!(names(["same of both", "same of both"]), ["same of…", "same of…"]);
    }
}
