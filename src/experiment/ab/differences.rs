//! One metric round by round: the figures of both runs, and their difference.

use std::cmp::Ordering;

use serde::Serialize;

use super::rounds::AbRound;
use crate::analysis::statistics::{Estimate, hodges_lehmann, signed_rank_p, walsh_averages};
use crate::analysis::{Figure, FigureKey};
use crate::experiment::difference::DifferenceScale;

/// A metric in one round; unknown figures are absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AbPair {
    /// Number of the round, from 1.
    pub round: u64,
    /// A's figure.
    pub a: Option<f64>,
    /// B's.
    pub b: Option<f64>,
}

/// The figures of the rounds in which both sides have them.
///
/// Requests that were cut off may leave a figure known only within bounds. A difference then has two ends, and every
/// statement about it must hold for both.
#[derive(Clone, Debug)]
pub(super) struct Differences {
    pub(super) scale: DifferenceScale,
    pub(super) pairs: Vec<AbPair>,
    figures: Vec<(Figure, Figure)>,
}

impl Differences {
    pub(super) fn new(measure: &FigureKey, rounds: &[AbRound<'_>]) -> Self {
        let both = rounds.iter().filter_map(|round| {
            let (a, b) = (measure.read(round.a)?, measure.read(round.b)?);
            Some((AbPair { round: round.number, a: a.exact(), b: b.exact() }, (a, b)))
        });
        let (pairs, figures): (Vec<_>, Vec<_>) = both.unzip();
        let above_zero = figures.iter().all(|(a, b)| a.at_least() > 0.0 && b.at_least() > 0.0);
        let own = DifferenceScale::from_kind(measure.kind());
        let scale = if above_zero { own } else { DifferenceScale::Difference };
        Self { scale, pairs, figures }
    }

    /// Lower and upper bound of each round's difference, on `scale`.
    fn ends(&self, scale: DifferenceScale) -> [Vec<f64>; 2] {
        let most = |figure: Figure| figure.at_most().unwrap_or(f64::INFINITY);
        let low = self.figures.iter().map(|&(a, b)| scale.between(most(a), b.at_least()));
        let high = self.figures.iter().map(|&(a, b)| scale.between(a.at_least(), most(b)));
        [low.collect(), high.collect()]
    }

    /// The differences on the metric's own scale, if all are known.
    pub(super) fn exact(&self) -> Option<Vec<f64>> {
        let known = self.pairs.iter().map(|pair| Some(self.scale.between(pair.a?, pair.b?)));
        known.collect()
    }

    /// The Hodges–Lehmann estimate on `scale`, with the interval of the signed-rank test at `level`. For figures known
    /// within bounds the interval covers all possible values; where one end of the estimate is open, it is the other
    /// end. `None` for too few rounds.
    pub(super) fn estimate(&self, scale: DifferenceScale, level: f64) -> Option<Estimate> {
        let [low, high] = self.ends(scale).map(|differences| hodges_lehmann(&differences, level));
        let (low, high) = (low?, high?);
        let value = match (low.value.is_finite(), high.value.is_finite()) {
            (true, false) => low.value,
            (false, true) => high.value,
            (true, true) | (false, false) => f64::midpoint(low.value, high.value),
        };
        Some(Estimate { value, low: low.low, high: high.high })
    }

    /// Returns the p-value of the exact signed-rank test of no difference. The test is on the metric's own scale. The
    /// p-value is 1 where the bounds leave its sign open, or where no round shows a difference. It is `None` without
    /// rounds.
    pub(super) fn p(&self) -> Option<f64> {
        if self.pairs.is_empty() {
            return None;
        }
        let ends = self.ends(self.scale);
        let sides = ends.each_ref().map(|differences| side(differences));
        if sides[0] != sides[1] {
            return Some(1.0);
        }
        Some(ends.iter().map(|differences| signed_rank_p(differences).unwrap_or(1.0)).fold(0.0, f64::max))
    }
}

/// Returns the side of 0 on which most Walsh averages lie. It is the sign of the signed-rank sum.
fn side(differences: &[f64]) -> Ordering {
    let means = walsh_averages(differences);
    let below = means.iter().filter(|mean| **mean < 0.0).count();
    let above = means.iter().filter(|mean| **mean > 0.0).count();
    above.cmp(&below)
}
