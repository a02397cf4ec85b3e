//! Several charts above one another under one axis of time, each stretch of it told as a whole.

use maud::{Markup, html};

use super::axis::Axis;
use super::ground::{BOTTOM, LEFT, RIGHT, Shade, WIDE, legend, n, x_axis};
use super::ink::{Ink, Sign};

/// Height of what is drawn in a panel.
const HEIGHT: f64 = 74.0;
/// Room above it for its title.
const TITLE: f64 = 26.0;
/// Room between panels.
const GAP: f64 = 12.0;

/// A chart in the making.
pub(crate) struct Panels {
    /// What it shows, for who cannot see it.
    pub(crate) description: String,
    pub(crate) x: Axis,
    pub(crate) shown: Vec<Panel>,
    pub(crate) shades: Vec<Shade>,
    /// Stretches of the x axis, each with all figures of it in words.
    pub(crate) slots: Vec<Slot>,
}

/// One of the charts; its title is that of its axis.
pub(crate) struct Panel {
    pub(crate) y: Axis,
    pub(crate) tracks: Vec<Track>,
}

/// Values over time.
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) form: TrackForm,
    /// The longest stretch without a value that a line goes across, in units of the x axis.
    pub(crate) across: f64,
    pub(crate) values: Vec<Value>,
}

/// How values over time are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackForm {
    /// Each as a level over its stretch.
    Steps,
    /// The same, filled down to the axis.
    Area,
    /// Joined by a line from the middle of each stretch to that of the next.
    Line,
}

/// A value over a stretch of the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) y: f64,
}

/// A stretch of the x axis with all figures of it in words.
pub(crate) struct Slot {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) words: String,
}

impl Panels {
    /// The chart as SVG.
    pub(crate) fn draw(&self) -> Markup {
        let width = WIDE - LEFT - RIGHT;
        let across = |x: f64| LEFT + self.x.place(x) * width;
        let mut top = 0.0;
        let mut placed = Vec::new();
        for panel in &self.shown {
            let names: Vec<_> =
                panel.tracks.iter().map(|track| (track.sign(), track.name.as_str())).collect();
            let (names, names_height) = legend(&names, WIDE);
            placed.push((panel, top, names, top + TITLE + names_height));
            top += TITLE + names_height + HEIGHT + GAP;
        }
        let bottom = top - GAP;
        html! {
            svg.wide viewBox=(format!("0 0 {WIDE} {}", bottom + BOTTOM)) role="img" aria-label=(self.description) {
                @for (panel, title, names, top) in &placed {
                    @for shade in &self.shades { (shade.draw(&across, (*top, top + HEIGHT))) }
                    (panel.draw((*title, *top), names, &across))
                }
                (x_axis(&self.x, (LEFT, width), bottom))
                @for slot in &self.slots {
                    @let (from, to) = (across(slot.from), across(slot.to));
                    rect class="hit slot" x=(n(from)) y="0" width=(n(to - from)) height=(n(bottom)) { title { (slot.words) } }
                }
            }
        }
    }
}

impl Panel {
    fn draw(&self, (title, top): (f64, f64), names: &Markup, across: &impl Fn(f64) -> f64) -> Markup {
        let up = |y: f64| top + (1.0 - self.y.place(y)) * HEIGHT;
        let ticks = self.y.ticks();
        // A panel is low: of five ticks or more every other has room.
        let every = if ticks.len() > 4 { 2 } else { 1 };
        html! {
            text class="title" x="2" y=(n(title + 14.0)) { (self.y.title()) }
            g transform=(format!("translate(0 {title:.1})")) { (names) }
            @for (place, label) in ticks.into_iter().step_by(every) {
                @let y = top + (1.0 - place) * HEIGHT;
                line class="grid" x1=(n(LEFT)) x2=(n(WIDE - RIGHT)) y1=(n(y)) y2=(n(y)) {}
                text class="tick" x=(n(LEFT - 6.0)) y=(n(y + 4.0)) text-anchor="end" { (label) }
            }
            line class="axis" x1=(n(LEFT)) x2=(n(WIDE - RIGHT)) y1=(n(top + HEIGHT)) y2=(n(top + HEIGHT)) {}
            @for track in &self.tracks {
                @if track.form == TrackForm::Area {
                    path class={ "area " (track.ink.class()) } d=(track.area(across, &up, top + HEIGHT)) {}
                } @else {
                    path class={ "line " (track.line_class()) } d=(track.path(across, &up)) {}
                    // A value between two stretches without one has no line to it.
                    @for (x, y) in track.alone() { (track.ink.mark((across(x), up(y)), false)) }
                }
            }
        }
    }
}

impl Track {
    fn sign(&self) -> Sign {
        match self.form {
            TrackForm::Area => Sign::Area(self.ink),
            TrackForm::Steps => Sign::Steps(self.ink),
            TrackForm::Line => Sign::Line(self.ink),
        }
    }

    /// Steps are told from the area behind them by their form, one line from another by its dashes.
    const fn line_class(&self) -> &'static str {
        match self.form {
            TrackForm::Line => self.ink.line_class(),
            TrackForm::Steps | TrackForm::Area => self.ink.class(),
        }
    }

    /// Its values in runs of stretches that touch.
    fn runs(&self) -> impl Iterator<Item = &[Value]> {
        let touch = |a: &Value, b: &Value| b.from - a.to < self.across + 1e-6;
        self.values.chunk_by(touch)
    }

    fn path(&self, across: &impl Fn(f64) -> f64, up: &impl Fn(f64) -> f64) -> String {
        let mut steps = Vec::new();
        for run in self.runs() {
            for (place, value) in run.iter().enumerate() {
                let (pen, y) = (if place == 0 { 'M' } else { 'L' }, up(value.y));
                steps.push(match self.form {
                    TrackForm::Steps | TrackForm::Area => {
                        format!("{pen}{:.1} {y:.1}H{:.1}", across(value.from), across(value.to))
                    }
                    TrackForm::Line => {
                        format!("{pen}{:.1} {y:.1}", across(f64::midpoint(value.from, value.to)))
                    }
                });
            }
        }
        steps.concat()
    }

    fn area(&self, across: &impl Fn(f64) -> f64, up: &impl Fn(f64) -> f64, bottom: f64) -> String {
        let mut steps = Vec::new();
        for run in self.runs() {
            let from = run.first().map(|first| format!("M{:.1} {bottom:.1}", across(first.from)));
            steps.extend(from);
            steps.extend(run.iter().map(|value| format!("V{:.1}H{:.1}", up(value.y), across(value.to))));
            steps.push(format!("V{bottom:.1}z"));
        }
        steps.concat()
    }

    /// Values of a line that have no neighbour.
    fn alone(&self) -> impl Iterator<Item = (f64, f64)> {
        let alone = self.runs().filter(|run| self.form == TrackForm::Line && run.len() == 1);
        alone.flatten().map(|value| (f64::midpoint(value.from, value.to), value.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(form: TrackForm) -> Track {
        let value = |from: f64, y: f64| Value { from, to: from + 1.0, y };
        let values = vec![value(0.0, 1.0), value(1.0, 3.0), value(4.0, 2.0)];
        Track { name: "requests <b>".to_owned(), ink: Ink::First, form, across: 0.0, values }
    }

    #[test]
    fn a_stretch_without_a_value_has_no_line() {
        let (across, up) = (|x: f64| x * 10.0, |y: f64| 100.0 - y);
        assert_eq!(
            track(TrackForm::Steps).path(&across, &up),
            "M0.0 99.0H10.0L10.0 97.0H20.0M40.0 98.0H50.0"
        );
        assert_eq!(track(TrackForm::Line).path(&across, &up), "M5.0 99.0L15.0 97.0M45.0 98.0");
        assert_eq!(track(TrackForm::Line).alone().collect::<Vec<_>>(), [(4.5, 2.0)]);
        let area = track(TrackForm::Area).area(&across, &up, 100.0);
        assert_eq!(area, "M0.0 100.0V99.0H10.0V97.0H20.0V100.0zM40.0 100.0V98.0H50.0V100.0z");
    }

    /// A gauge that is read every other bin is a line all the same; where readings are missing it is broken.
    #[test]
    fn a_line_goes_across_stretches_up_to_a_length() {
        let (across, up) = (|x: f64| x * 10.0, |y: f64| 100.0 - y);
        let mut gauge = track(TrackForm::Line);
        gauge.across = 2.0;
        assert_eq!(gauge.path(&across, &up), "M5.0 99.0L15.0 97.0L45.0 98.0");
        gauge.across = 1.9;
        assert_eq!(gauge.path(&across, &up), "M5.0 99.0L15.0 97.0M45.0 98.0");
    }

    #[test]
    fn every_stretch_is_told_over_all_panels() {
        let panel =
            || Panel { y: Axis::from_zero("requests/s <i>", [3.0]), tracks: vec![track(TrackForm::Steps)] };
        let slot = Slot { from: 0.0, to: 1.0, words: "0–1 s: <script>".to_owned() };
        let drawn = Panels {
            description: "over time".to_owned(),
            x: Axis::between("time, s", 0.0, 5.0),
            shown: vec![panel(), panel()],
            shades: Vec::new(),
            slots: vec![slot],
        };
        let drawn = drawn.draw().into_string();
        assert_eq!(drawn.matches("requests/s &lt;i&gt;").count(), 2);
        assert!(drawn.contains("<title>0–1 s: &lt;script&gt;</title>"), "{drawn}");
    }
}
