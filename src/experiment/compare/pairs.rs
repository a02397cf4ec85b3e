//! The change of a figure between two runs of the same plan, by the same requests in both.

use std::cmp::Ordering;

use super::side::ComparedSide;
use crate::analysis::statistics::{BatchMeans, CONFIDENCE, mean, student_t_quantile};
use crate::analysis::{Figure, FigureKey, FigureKind, Statistic};

/// Pairs of the same requests of two runs, in order of arrival. Each holds what the request has of a figure in either
/// run.
///
/// Both runs meet the same bursts and the same long prompts, so that requests tell a change one by one that the runs as
/// wholes hide (common random numbers: Law, *Simulation Modeling and Analysis*, section 11.2).
pub(super) struct RequestPairs {
    pairs: Vec<[Option<Figure>; 2]>,
    contrast: Contrast,
    /// The change: a share of the baseline's figure, of a share the difference.
    value: f64,
    /// The most that it can be asked about.
    most: f64,
    /// Quantile of Student's t for a 95 % interval of a mean over the pairs.
    t: f64,
}

/// Form in which a figure is a mean over requests.
#[derive(Clone, Copy)]
enum Contrast {
    /// Mean of whether requests are over a percentile, the baseline's or the other run's. So many are beyond it.
    Percentile { base: f64, other: f64, beyond: f64 },
    /// Mean of what requests have, with the baseline's mean, compared by the ratio.
    Ratio(f64),
    /// Mean of what requests have, with the baseline's mean, compared by the difference.
    Difference(f64),
}

/// Number of requests that may have changed where none is seen to, −ln 2.5 %. It is the rule of three, at this
/// confidence.
const UNSEEN: f64 = 3.688_879_454_113_936;

/// Least change that is one, a share of the baseline. A table shows less as 0 %, and no clock tells it.
pub(super) const SHOWN: f64 = 5e-5;
/// Changes that differ by less are the same.
const SAME: f64 = 1e-6;
/// Just over a value, as a multiple of it.
const JUST_OVER: f64 = 1.0 + 1e-9;

impl RequestPairs {
    /// Pairs the requests of two single runs by what they have of the figure `key`. `None` where it is not known, not
    /// of single requests, or both runs are too short to know what the server does at other times.
    pub(super) fn new(key: &FigureKey, sides: [&ComparedSide; 2]) -> Option<Self> {
        let [before, after] = sides.map(|side| side.figure(key));
        let requests = sides.map(|side| side.requests_of(key));
        if sides.iter().all(|side| side.is_short()) {
            return None;
        }
        let mut all: Vec<(u64, usize, Figure)> = Vec::new();
        for (side, figures) in requests.into_iter().enumerate() {
            all.extend(figures.iter().map(|(index, figure)| (*index, side, *figure)));
        }
        all.sort_by_key(|(index, ..)| *index);
        // A request that counts in no rate of a run counts as none.
        let absent = (key.kind() == FigureKind::Rate).then_some(Figure::Exact(0.0));
        let pairs = all.chunk_by(|one, next| one.0 == next.0).map(|same| {
            let of = |side| same.iter().find(|found| found.1 == side).map(|found| found.2);
            [of(0).or(absent), of(1).or(absent)]
        });
        let pairs: Vec<_> = pairs.collect();
        let mean_of = |side: usize| {
            let figures = pairs.iter().filter_map(|pair| pair[side]);
            mean(&figures.map(Figure::exact).collect::<Option<Vec<f64>>>()?)
        };
        if matches!(key.statistic, Some(Statistic::Min | Statistic::Max)) {
            return None;
        }
        let fraction = key.statistic.and_then(Statistic::fraction);
        let (contrast, value, most) = match (fraction, key.kind()) {
            (Some(fraction), _) => {
                let base = before.mean.filter(|&base| base > 0.0)?;
                let value = after.mean_at_least? / base - 1.0;
                let other = after.mean_at_most.unwrap_or(f64::INFINITY);
                let before = requests[0].iter().map(|(_, figure)| figure.at_least());
                let least = before.filter(|&least| least > 0.0).fold(base, f64::min);
                let most = other * JUST_OVER / least - 1.0;
                (Contrast::Percentile { base, other, beyond: 1.0 - fraction }, value, most)
            }
            (None, FigureKind::Share) => {
                let base = mean_of(0)?;
                (Contrast::Difference(base), mean_of(1)? - base, 1.0)
            }
            (None, _) => {
                let base = mean_of(0).filter(|&base| base > 0.0)?;
                let value = mean_of(1)? / base - 1.0;
                (Contrast::Ratio(base), value, 100.0 * (value + 2.0))
            }
        };
        let change = before.mean.zip(after.mean).map(|(before, after)| match contrast {
            Contrast::Difference(_) => after - before,
            Contrast::Percentile { .. } | Contrast::Ratio(_) => after / before - 1.0,
        });
        // Where requests left no record, or answers counted for another time, the figure is not that of the pairs.
        if change.is_some_and(|change| (change - value).abs() > SAME) {
            return None;
        }
        let found = Self { pairs, contrast, value, most, t: 0.0 };
        let freedom = found.beyond(0.0, Ordering::Equal)?.freedom;
        Some(Self { t: student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom), ..found })
    }

    /// Requests.
    pub(super) fn len(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Two-sided p-value that nothing changed, or by less than is shown.
    pub(super) fn p(&self) -> f64 {
        let way = if self.value < 0.0 { Ordering::Less } else { Ordering::Greater };
        let found = self.beyond(SHOWN.copysign(self.value), way).filter(|found| !self.is_unseen(found));
        let moves = |found: &BatchMeans| self.value != 0.0 && found.mean.total_cmp(&0.0) == way;
        found.filter(moves).map_or(1.0, |found| found.p())
    }

    /// Returns the ends of its 95 % interval. It holds all changes x that the requests allow: those for which the
    /// other's figure is 1 + x times the baseline's, of shares x more, but for chance.
    ///
    /// A percentile is held by who is beyond it (Woodruff, *JASA* 47, 1952, 635–646, here of pairs): it grew
    /// by more than x where surely more of the other run are over (1 + x) times the baseline's, and by less
    /// where surely more of the baseline are over the other's ÷ (1 + x), so that a change for the better is
    /// seen as well as the same one for the worse. A mean is held by the difference (Fieller). An end is
    /// absent where the requests allow all that lies beyond.
    pub(super) fn ends(&self) -> (Option<f64>, Option<f64>) {
        let end = |from: f64, way: Ordering| {
            // Whether the interval holds 0 is asked at 0 itself, so that it says the same as the p-value.
            let passes_zero = from.signum() != self.value.signum() && self.value != 0.0;
            if passes_zero && self.surely(0.0, way) {
                return Some(bisect(0.0, self.value, |x| self.surely(x, way)));
            }
            let until = if passes_zero { 0.0 } else { self.value };
            self.surely(from, way).then(|| bisect(from, until, |x| self.surely(x, way)))
        };
        (end(-1.0, Ordering::Greater), end(self.most, Ordering::Less))
    }

    /// Whether the change surely lies on this side of `x`.
    fn surely(&self, x: f64, way: Ordering) -> bool {
        let found = self.beyond(x, way).filter(|found| !self.is_unseen(found));
        found.is_some_and(|found| found.mean.abs() > self.t * found.error && found.mean.total_cmp(&0.0) == way)
    }

    /// Returns by how much the other's requests are beyond the baseline's at change `x`. A request that was cut off is
    /// anywhere from there on: where that is the less favourable to the proof.
    fn beyond(&self, x: f64, way: Ordering) -> Option<BatchMeans> {
        let times = 1.0 + x;
        let ends = |least: bool, figure: Option<Figure>| {
            let most = |figure: Figure| figure.at_most().unwrap_or(f64::INFINITY);
            figure.map(|figure| if least { figure.at_least() } else { most(figure) })
        };
        let difference = |[one, other]: &[Option<Figure>; 2]| {
            let one = ends(way == Ordering::Less, *one);
            let other = ends(way != Ordering::Less, *other);
            let (one, other) = match self.contrast {
                Contrast::Percentile { base, other: percentile, beyond } => {
                    let over = |value: f64, bound: f64| f64::from(u8::from(value > bound)) - beyond;
                    let (of_one, of_other) = match way {
                        Ordering::Less => (percentile / times, percentile),
                        _ => (base, times * base),
                    };
                    (one.map(|value| over(value, of_one)), other.map(|value| over(value, of_other)))
                }
                Contrast::Ratio(mean) => {
                    (one.map(|value| times * (value - mean)), other.map(|value| value - times * mean))
                }
                Contrast::Difference(mean) => (one.map(|value| value - mean), other.map(|value| value - mean - x)),
            };
            other.unwrap_or(0.0) - one.unwrap_or(0.0)
        };
        BatchMeans::from_values(&self.pairs.iter().map(difference).collect::<Vec<_>>())
    }

    /// Returns whether so few requests differ that it may be chance. As many could differ by chance where none was seen
    /// to.
    fn is_unseen(&self, found: &BatchMeans) -> bool {
        found.mean.abs() * self.pairs.len() as f64 <= UNSEEN
    }
}

/// Returns where, on the way from one place to another, what holds there ceases to.
fn bisect(mut holds_at: f64, mut ceased: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = f64::midpoint(holds_at, ceased);
        if holds(middle) {
            holds_at = middle;
        } else {
            ceased = middle;
        }
    }
    f64::midpoint(holds_at, ceased)
}
