//! Lines across a chart, with labels that are laid out so that none hides another.

use maud::{Markup, html};

use super::frame::{Frame, n};
use super::plot::ReferenceLine;
use crate::units::fitted;

/// Height of a label's line.
const LINE: f64 = 13.0;
/// About how wide a character of a label is.
const CHARACTER: f64 = 6.7;
/// Points from which it does not matter how many more a label hides.
const MOST_HIDDEN: usize = 8;
/// Characters of the longest label; hovering over its line shows the whole of it.
const LONGEST: usize = 34;
/// Room that a label keeps from lines and other labels.
const ROOM: f64 = 4.0;
/// The furthest that a label stands from where it would stand alone, in lines.
const FURTHEST: u8 = 12;

/// Course of a line on the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Course {
    Across { y: f64 },
    Upright { x: f64 },
}

/// A stretch of the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Patch {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The lines with their labels; hovering over a line shows its whole text.
///
/// `drawn` are lines through points of the chart, by their values: labels keep off them where they can.
pub(super) fn draw(rules: &[ReferenceLine], drawn: &[Vec<(f64, f64)>], frame: &Frame<'_>) -> Markup {
    let within = Patch { left: frame.left, right: frame.right, top: frame.top, bottom: frame.bottom };
    let course = |rule: &ReferenceLine| match rule {
        ReferenceLine::Height(height, _) => Course::Across { y: frame.up(*height) },
        ReferenceLine::Place(place, _) => Course::Upright { x: frame.across(*place) },
    };
    let courses: Vec<Course> = rules.iter().map(course).collect();
    let room = (((within.right - within.left - 2.0 * ROOM) / CHARACTER) as usize).min(LONGEST);
    let texts: Vec<String> = rules.iter().map(|rule| fitted(rule.label(), room)).collect();
    let drawn = drawn.iter().flat_map(|line| {
        let points: Vec<(f64, f64)> = line.iter().map(|place| frame.place(*place)).collect();
        close_together(&points)
    });
    let places = lay_out(&courses, &texts, within, &drawn.collect::<Vec<_>>());
    html! {
        @for (rule, course) in rules.iter().zip(&courses) {
            @let (x1, x2, y1, y2) = course.ends(within);
            line class="rule" x1=(n(x1)) x2=(n(x2)) y1=(n(y1)) y2=(n(y2)) { title { (rule.label()) } }
        }
        @for ((text, place), course) in texts.iter().zip(&places).zip(&courses) {
            @if let Some(place) = place {
                @let ends = course.ends_beside(place, within);
                @let (anchor, x) = if ends { ("end", place.right) } else { ("start", place.left) };
                rect class="behind" x=(n(place.left)) y=(n(place.top)) width=(n(place.right - place.left))
                    height=(n(LINE)) {}
                text class="note" x=(n(x)) y=(n(place.bottom - 3.0)) text-anchor=(anchor) { (text) }
            }
        }
    }
}

impl Course {
    /// Returns the ends between which it is drawn.
    fn ends(self, within: Patch) -> (f64, f64, f64, f64) {
        match self {
            Self::Across { y } => (within.left, within.right, y, y),
            Self::Upright { x } => (x, x, within.top, within.bottom),
        }
    }

    /// Returns whether a label belongs to where it ends rather than to where it begins. The width of a text is only
    /// about known.
    fn ends_beside(self, label: &Patch, within: Patch) -> bool {
        match self {
            Self::Across { .. } => label.left > within.left + 2.0 * ROOM,
            Self::Upright { x } => label.right <= x,
        }
    }

    fn crosses(self, patch: &Patch) -> bool {
        match self {
            Self::Across { y } => (patch.top..=patch.bottom).contains(&y),
            Self::Upright { x } => (patch.left..=patch.right).contains(&x),
        }
    }

    /// Returns the places for a label so wide, each with what speaks against it. They are beside its own line, as near
    /// as may be to where a reader looks for it. That of a line across ends at the right edge or before a label that
    /// already stands.
    fn candidates(self, width: f64, within: Patch, taken: &[Patch]) -> Vec<(f64, Patch)> {
        let patch = |left: f64, top: f64| Patch { left, right: left + width, top, bottom: top + LINE };
        let mut found = Vec::new();
        match self {
            Self::Across { y } => {
                let before = taken.iter().map(|label| label.left - 2.0 * ROOM);
                let edges = [within.right - ROOM, within.left + ROOM + width];
                let ends: Vec<f64> = edges.into_iter().chain(before).collect();
                for away in 0..FURTHEST {
                    let shift = f64::from(away) * LINE;
                    for (against, end) in ends.iter().enumerate() {
                        let against = against as f64 + 20.0 * f64::from(away);
                        found.push((against, patch(end - width, y - 2.0 - LINE - shift)));
                        found.push((against + 0.5, patch(end - width, y + 2.0 + shift)));
                    }
                }
            }
            Self::Upright { x } => {
                for down in 0..FURTHEST {
                    let (against, top) = (2.0 * f64::from(down), within.top + f64::from(down) * LINE);
                    found.push((against, patch(x + ROOM, top)));
                    found.push((against + 0.5, patch(x - ROOM - width, top)));
                    // Over its own line, where there is room on neither side of it.
                    let over = (x - width / 2.0).min(within.right - width).max(within.left);
                    found.push((against + 5.0, patch(over, top)));
                }
            }
        }
        found
    }
}

impl Patch {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn covers(&self, (x, y): (f64, f64)) -> bool {
        (self.left - ROOM..=self.right + ROOM).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    fn holds(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// Returns the points of a line through `points` no further apart than a label's height.
fn close_together(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = points.windows(2).flat_map(|pair| {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let steps = ((to_x - x).hypot(to_y - y) / LINE).ceil().clamp(1.0, 1_000.0);
        (1..steps as u32).map(move |step| {
            let share = f64::from(step) / steps;
            (x + (to_x - x) * share, y + (to_y - y) * share)
        })
    });
    points.iter().copied().chain(between).collect()
}

/// Returns a place for each label that there is room for. It is inside the chart, on no other label, and on what is
/// drawn and on another line only where nothing else is left. The first labels choose first.
fn lay_out(courses: &[Course], texts: &[String], within: Patch, drawn: &[(f64, f64)]) -> Vec<Option<Patch>> {
    let mut taken: Vec<Patch> = Vec::new();
    let mut places = Vec::new();
    for (place, (course, text)) in courses.iter().zip(texts).enumerate() {
        let width = text.chars().count() as f64 * CHARACTER;
        let crossed = |patch: &Patch| {
            courses.iter().enumerate().filter(|(other, course)| *other != place && course.crosses(patch)).count()
        };
        let free = course
            .candidates(width, within, &taken)
            .into_iter()
            .filter(|(_, patch)| within.holds(patch) && !taken.iter().any(|label| label.meets(patch)));
        let hidden = |patch: &Patch| drawn.iter().filter(|point| patch.covers(**point)).count().min(MOST_HIDDEN);
        let best =
            free.map(|(against, patch)| (against + 10.0 * crossed(&patch) as f64 + 4.0 * hidden(&patch) as f64, patch));
        let best = best.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, patch)| patch);
        taken.extend(best);
        places.push(best);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patch as large as the ground of a chart in a column.
    const WITHIN: Patch = Patch { left: 60.0, right: 424.0, top: 40.0, bottom: 256.0 };

    fn placed(courses: &[Course], labels: &[&str]) -> Vec<Patch> {
        let texts: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let placed: Vec<Patch> = lay_out(courses, &texts, WITHIN, &[]).into_iter().flatten().collect();
        for (place, one) in placed.iter().enumerate() {
            assert!(WITHIN.holds(one), "{one:?}");
            for other in &placed[place + 1..] {
                let apart = one.right <= other.left
                    || other.right <= one.left
                    || one.bottom <= other.top
                    || other.bottom <= one.top;
                assert!(apart, "{one:?} lies on {other:?}");
            }
        }
        placed
    }

    /// Bounds of one latency that lie within three units on a wide axis. Such are 95, 97 and 100 ms.
    #[test]
    fn bounds_near_one_another_have_labels_beside_one_another() {
        let courses = [100.0, 101.5, 103.0].map(|y| Course::Across { y });
        let placed = placed(&courses, &["p99 ttft < 100ms", "p95 ttft < 97ms", "p50 ttft < 95ms"]);
        assert_eq!(placed.len(), 3);
        for (label, y) in placed.iter().zip([100.0, 101.5, 103.0]) {
            let far = (y - label.bottom).max(label.top - y);
            assert!((0.0..=2.0 + 1e-9).contains(&far), "each stands at its own line: {label:?}");
        }
    }

    #[test]
    fn upright_bounds_near_one_another_have_labels_below_one_another() {
        let courses = [200.0, 300.0, 305.0, 310.0, 420.0].map(|x| Course::Upright { x });
        let labels = ["SLO 200 ms: chat", "p95 ttft < 300ms", "p99 ttft < 320ms", "p90 ttft < 330ms", "knee"];
        let placed = placed(&courses, &labels);
        assert_eq!(placed.len(), 5);
        for (label, course) in placed.iter().zip(courses) {
            let Course::Upright { x } = course else { unreachable!() };
            assert!(label.left - x == ROOM || x - label.right == ROOM, "each touches its own line: {label:?}");
        }
    }

    #[test]
    fn many_more_labels_than_there_is_room_for_never_hide_one_another() {
        let label = "p95 ttft of a_class_with_a_long_name < 300ms";
        for courses in [
            (0..60).map(|i| Course::Across { y: 150.0 + f64::from(i) * 0.1 }).collect::<Vec<_>>(),
            (0..60).map(|i| Course::Upright { x: 200.0 + f64::from(i) }).collect(),
            (0..60)
                .map(|i| if i % 2 == 0 { Course::Across { y: 150.0 } } else { Course::Upright { x: 240.0 } })
                .collect(),
        ] {
            let placed = placed(&courses, &vec![label; courses.len()]);
            assert!((5..=60).contains(&placed.len()), "{}", placed.len());
        }
    }

    /// A curve that rises to the right leaves room on the left.
    #[test]
    fn a_label_keeps_off_what_is_drawn() {
        let curve = close_together(&[(70.0, 240.0), (330.0, 200.0), (420.0, 90.0)]);
        let texts = ["p99 ttft < 100ms".to_owned()];
        let places = lay_out(&[Course::Across { y: 105.0 }], &texts, WITHIN, &curve);
        let label = places[0].unwrap();
        assert!(!curve.iter().any(|point| label.covers(*point)), "{label:?}");
        assert!(label.bottom <= 105.0 && label.top > 85.0, "and stands at its line: {label:?}");
        assert!(curve.windows(2).count() > 20, "between its three points too");
    }

    /// At the chart's edges: a bound on its upper end has its label below it.
    #[test]
    fn a_label_at_an_edge_stands_inside() {
        let placed = placed(&[Course::Across { y: 40.0 }, Course::Across { y: 256.0 }], &["high", "low"]);
        assert!(placed[0].top > 40.0 && placed[1].bottom < 256.0, "{placed:?}");
        let placed = self::placed(&[Course::Upright { x: 424.0 }], &["right"]);
        assert!(placed[0].right < 424.0, "{placed:?}");
    }
}
