//! The second part of the automatic search: rounds of runs around the estimate, until it is as sure as asked.

use super::bracket::Next;
use super::loads::tightest;
use super::{Load, LoadAxis, Search, StopReason};

/// The loads of a round reach this far to both sides of the estimate, as a share: a line through them tells how steep
/// the figure is there, and the curve is hardly bent between them.
const REACH: f64 = 0.1;
/// How many times the next load is the highest, where chance ended the bracket.
const AWAY: f64 = 1.5;
/// Loads of a round on either side of the middle one.
const SIDE: u8 = 2;
/// Loads of a round.
const ROUND: usize = 2 * SIDE as usize + 1;

/// A search whose first `from` runs were for the bracket.
pub(super) struct Refinement<'a> {
    pub(super) search: &'a Search,
    pub(super) from: usize,
}

impl Refinement<'_> {
    /// The next rate, or why there is none.
    pub(super) fn next(&self) -> Next {
        let plan = self.search.plan();
        let LoadAxis::Automatic { from_per_s } = plan.axis else {
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
        let on_grid = |place: f64| from_per_s * libm::exp(place * step);
        let place_of = |rate: f64| (libm::log(rate / from_per_s) / step).round();
        let Some((_, crossing)) = tightest(trials, self.search.demands()) else {
            let beyond = self.beyond().unwrap_or(from_per_s);
            return Next::Measure(on_grid(place_of(beyond)));
        };
        let middle = place_of(crossing.estimate);
        let apart = (REACH / f64::from(SIDE) / plan.precision).round().max(1.0);
        let rates = (0..=SIDE)
            .map(|n| f64::from(n) * apart)
            .flat_map(|away| [middle + away, middle - away])
            .map(on_grid);
        let flown = |rate: f64| trials.iter().filter(|trial| trial.load == Load::Rate(rate)).count();
        // Of those with as few runs the first: the middle, then its neighbours.
        rates.min_by_key(|rate| flown(*rate)).map_or(Next::Done(StopReason::AllMeasured), Next::Measure)
    }

    /// Where to look when all runs together cross no limit: what ended the bracket was chance, and the highest load lies
    /// above all that was measured, or below.
    fn beyond(&self) -> Option<f64> {
        let tallies = self.search.tallies();
        let (lowest, highest) = (tallies.first()?, tallies.last()?);
        Some(if highest.passes { highest.load.amount() * AWAY } else { lowest.load.amount() / AWAY })
    }

    /// Whether the interval is as narrow as asked.
    fn is_narrow(&self) -> bool {
        let crossing = tightest(self.search.trials(), self.search.demands());
        let interval = crossing.and_then(|(_, crossing)| crossing.interval);
        interval.is_some_and(|(low, high)| high / low <= 1.0 + self.search.plan().precision + 1e-9)
    }
}
