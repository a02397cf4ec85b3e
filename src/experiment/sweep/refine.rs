//! The second part of the automatic search: rounds of runs around the estimate, until it is as sure as asked.

use super::bracket::{Bracket, Next};
use super::loads::tightest;
use super::{Load, LoadAxis, Search, StopReason};

/// The loads of a round reach this far to both sides of the estimate, as a share: a line through them tells how steep
/// the figure is there, and the curve is hardly bent between them.
const REACH: f64 = 0.1;
/// Loads of a round on either side of the middle one.
const SIDE: u8 = 2;
/// Loads of a round.
const ROUND: usize = 2 * SIDE as usize + 1;

/// A search whose first `from` runs were for the bracket, and ended with it.
pub(super) struct Refinement<'a> {
    pub(super) search: &'a Search,
    pub(super) from: usize,
    pub(super) bracket: Bracket,
}

impl Refinement<'_> {
    /// The next rate, or why there is none.
    pub(super) fn next(&self) -> Next {
        let plan = self.search.plan();
        let LoadAxis::Automatic { from_per_s, up_to_per_s } = plan.axis else {
            return Next::Done(StopReason::AllMeasured);
        };
        let trials = self.search.trials();
        let refined = trials.len() - self.from;
        let rounds = (refined / ROUND) as u64;
        if refined.is_multiple_of(ROUND) && rounds >= plan.repeats.max(1) && self.is_narrow() {
            return Next::Done(StopReason::Narrow);
        }
        // Loads lie on a grid, so that those of several rounds meet, and neighbours are as far apart as the precision asked.
        let step = libm::log(1.0 + plan.precision);
        let middle = (libm::log(self.estimate() / from_per_s) / step).round();
        let apart = (REACH / f64::from(SIDE) / plan.precision).round().max(1.0);
        let rates = (0..=SIDE)
            .map(|n| f64::from(n) * apart)
            .flat_map(|away| [away, -away])
            .map(|away| from_per_s * libm::exp((middle + away) * step))
            .filter(|rate| up_to_per_s.is_none_or(|most| *rate <= most));
        let flown = |rate: f64| trials.iter().filter(|trial| trial.load == Load::Rate(rate)).count();
        // Of those with as few runs the first: the middle, then its neighbours.
        rates.min_by_key(|rate| flown(*rate)).map_or(Next::Done(StopReason::EverythingPasses), Next::Measure)
    }

    /// The best guess of the highest load.
    fn estimate(&self) -> f64 {
        let crossing = tightest(self.search.trials(), self.search.demands());
        crossing.map_or(self.bracket.middle(), |(_, crossing)| crossing.estimate)
    }

    /// Whether the interval is as narrow as asked.
    fn is_narrow(&self) -> bool {
        let crossing = tightest(self.search.trials(), self.search.demands());
        let interval = crossing.and_then(|(_, crossing)| crossing.interval);
        interval.is_some_and(|(low, high)| high / low <= 1.0 + self.search.plan().precision + 1e-9)
    }
}
