//! The refinement of a search: rounds of runs around the estimate, until its interval is narrow enough.

use super::Search;
use super::bracket::Next;
use super::tally::{Tightest, tightest};
use crate::experiment::sweep::answer::StopReason;
use crate::experiment::sweep::plan::{Load, LoadAxis};
use crate::record::Repeat;

/// Factor from the highest load to the next where chance ended the bracket. The bracket is of a search that began
/// anywhere.
const AWAY: f64 = 1.5;
/// Loads of a round on either side of the middle one.
const SIDE: u8 = 2;
/// Loads of a round.
pub(super) const ROUND: usize = 2 * SIDE as usize + 1;

impl Search {
    /// The next step of a search whose first `from` trials were for the bracket.
    pub(super) fn refine(&self, from: usize) -> Next {
        let (plan, trials) = (&self.plan, &self.trials);
        let LoadAxis::Automatic { from_per_s, first_step } = plan.axis else {
            return Next::Done(StopReason::AllMeasured);
        };
        let refined = (from..trials.len()).filter(|&place| self.is_used(place)).count();
        let rounds = (refined / ROUND) as u64;
        let is_narrow = || self.interval().is_ok_and(|(low, high)| high / low <= 1.0 + plan.precision + 1e-9);
        if refined.is_multiple_of(ROUND) && rounds >= plan.repeats.max(1) && is_narrow() {
            return Next::Done(StopReason::Narrow);
        }
        let grid = RateGrid { from_per_s };
        let decides = tightest(trials, &self.demands);
        let Some(crossing) = decides.crossing() else {
            // A search that began near its answer stays there.
            let away = first_step.map_or(AWAY, libm::sqrt);
            let beyond = self.beyond(decides, away).unwrap_or(from_per_s);
            return Next::Measure(grid.nearest(beyond));
        };
        let of_rate = |place: usize, rate| trials[place].load == Load::Rate(rate) && self.is_used(place);
        let runs = |rate: &f64| (0..trials.len()).filter(|&place| of_rate(place, *rate)).count();
        // Of the loads with the fewest runs, the first: the middle, then its neighbours.
        let next = grid.round(crossing.estimate).into_iter().min_by_key(runs);
        next.map_or(Next::Done(StopReason::AllMeasured), Next::Measure)
    }

    /// Returns whether no run replaces the trial at `place`. It counts, or its load has no spare run left.
    fn is_used(&self, place: usize) -> bool {
        let trial = &self.trials[place];
        let disturbed = self.trials[..place].iter().filter(|before| before.load == trial.load && before.left_out);
        !trial.left_out || disturbed.count() as u64 >= Repeat::MOST_SPARE
    }

    /// Returns the next load when all runs together cross no limit. Chance ended the bracket, and the highest load lies
    /// above all measured loads, or below.
    fn beyond(&self, decides: Tightest, away: f64) -> Option<f64> {
        let tallies = self.tallies();
        let (lowest, highest) = (tallies.first()?, tallies.last()?);
        let above = highest.passes && !matches!(decides, Tightest::Missed(_));
        Some(if above { highest.load.amount() * away } else { lowest.load.amount() / away })
    }
}

/// The grid of rates for the refinement, so that several rounds share rates. It does not depend on the
/// requested precision, so that a search that is resumed with another finds its runs.
#[derive(Clone, Copy, Debug)]
struct RateGrid {
    from_per_s: f64,
}

impl RateGrid {
    /// Logarithm of the ratio of neighbouring rates, ln 1.05. A round reaches a tenth to both sides of the estimate. A
    /// line through its loads gives the slope there, and the curve is nearly straight between them.
    const STEP: f64 = 0.048_790_164_169_432_05;

    fn place(self, rate: f64) -> f64 {
        (libm::log(rate / self.from_per_s) / Self::STEP).round()
    }

    fn rate(self, place: f64) -> f64 {
        self.from_per_s * libm::exp(place * Self::STEP)
    }

    fn nearest(self, rate: f64) -> f64 {
        self.rate(self.place(rate))
    }

    /// The loads of a round around `rate`: the middle one, then its neighbours.
    fn round(self, rate: f64) -> Vec<f64> {
        let middle = self.place(rate);
        let away = (0..=SIDE).map(f64::from);
        away.flat_map(|away| [middle + away, middle - away]).map(|place| self.rate(place)).collect()
    }
}
