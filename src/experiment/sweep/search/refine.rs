//! The refinement of a search: rounds of runs around the estimate, until its interval is narrow enough.

use super::Search;
use super::bracket::Next;
use super::refinement::{Refinement, SearchTier};
use super::tally::{Tightest, tightest};
use crate::experiment::sweep::answer::StopReason;
use crate::experiment::sweep::load::Load;
use crate::record::Repeat;

/// Factor from the highest load to the next where chance ended the bracket. The bracket is of a search that began
/// anywhere.
const AWAY: f64 = 1.5;
/// Loads of a round on either side of the middle one.
const SIDE: u8 = 2;
/// Width in agents of an interval that more runs do not narrow.
const NEIGHBOURS: f64 = 2.0;
/// Loads of a round.
pub(super) const ROUND: usize = 2 * SIDE as usize + 1;

impl Search {
    /// The next step of the refinement of `tier`.
    pub(super) fn refine(&self, tier: &SearchTier, refinement: &Refinement) -> Next {
        let (plan, trials) = (&self.plan, &self.trials);
        let Some((first, first_step)) = plan.axis.searched() else {
            return Next::Done(StopReason::AllMeasured);
        };
        let refined = refinement.runs.iter().filter(|&&place| self.is_used(place)).count();
        let rounds = (refined / ROUND) as u64;
        let is_whole = |width: f64| first.users().is_some() && width <= NEIGHBOURS;
        let is_narrow = |(low, high)| high / low <= 1.0 + plan.precision + 1e-9 || is_whole(high - low);
        if refined.is_multiple_of(ROUND) && rounds >= plan.repeats.max(1) && self.interval_of(tier).is_ok_and(is_narrow)
        {
            return Next::Done(StopReason::Narrow);
        }
        let grid = LoadGrid { first };
        let decides = tightest(trials, &tier.demands);
        let Some(crossing) = decides.crossing() else {
            // A search that began near its answer stays there.
            let away = first_step.map_or(AWAY, libm::sqrt);
            let beyond = self.beyond(tier, decides, away).unwrap_or(first.amount());
            return Next::Measure(grid.load(grid.place(beyond)));
        };
        let runs = |load: &Load| (0..trials.len()).filter(|&at| trials[at].load == *load && self.is_used(at)).count();
        // Of the loads with the fewest runs, the first: the middle, then its neighbours.
        let next = grid.round(crossing.estimate).into_iter().min_by_key(runs);
        next.map_or(Next::Done(StopReason::AllMeasured), Next::Measure)
    }

    /// Whether a run under `load` is one of the round that `tier` is in.
    pub(super) fn is_in_round(&self, tier: &SearchTier, load: Load) -> bool {
        let Some((first, _)) = self.plan.axis.searched() else { return false };
        let crossing = tightest(&self.trials, &tier.demands).crossing();
        crossing.is_none_or(|crossing| LoadGrid { first }.is_in_round(crossing.estimate, load))
    }

    /// Returns whether no run replaces the trial at `place`. It counts, or its load has no spare run left.
    fn is_used(&self, place: usize) -> bool {
        let trial = &self.trials[place];
        let disturbed = self.trials[..place].iter().filter(|before| before.load == trial.load && before.left_out);
        !trial.left_out || disturbed.count() as u64 >= Repeat::MOST_SPARE
    }

    /// Returns the next load when all runs together cross no limit. Chance ended the bracket, and the highest load lies
    /// above all measured loads, or below.
    fn beyond(&self, tier: &SearchTier, decides: Tightest, away: f64) -> Option<f64> {
        let tallies = self.tallies(&tier.demands);
        let (lowest, highest) = (tallies.first()?, tallies.last()?);
        let above = highest.passes && !matches!(decides, Tightest::Missed(_));
        Some(if above { highest.load.amount() * away } else { lowest.load.amount() / away })
    }
}

/// The grid of loads for the refinement, so that several rounds share loads. It does not depend on the
/// requested precision, so that a search that is resumed with another finds its runs.
#[derive(Clone, Copy, Debug)]
struct LoadGrid {
    first: Load,
}

impl LoadGrid {
    /// Logarithm of the ratio of neighbouring loads, ln 1.05. A round reaches a tenth to both sides of the estimate. A
    /// line through its loads gives the slope there, and the curve is nearly straight between them.
    const STEP: f64 = 0.048_790_164_169_432_05;
    /// The fewest agents of which 5 % are one. Fewer are a step of one from each other.
    const OF_ONE: f64 = 20.0;

    /// The load from which on steps are equal in their logarithm, and its place.
    fn origin(self) -> (f64, f64) {
        match self.first {
            Load::Rate(from_per_s) => (from_per_s, 0.0),
            Load::Users(_) | Load::Agents(_) => (Self::OF_ONE, Self::OF_ONE),
        }
    }

    fn place(self, amount: f64) -> f64 {
        let (origin, place) = self.origin();
        let by_one = amount < place;
        (if by_one { amount } else { place + libm::log(amount / origin) / Self::STEP }).round()
    }

    fn load(self, place: f64) -> Load {
        let (origin, of_origin) = self.origin();
        let by_one = place < of_origin && self.first.users().is_some();
        self.first.of_amount(if by_one { place.max(1.0) } else { origin * libm::exp((place - of_origin) * Self::STEP) })
    }

    /// The loads of a round around `amount`: the middle one, then its neighbours.
    fn round(self, amount: f64) -> Vec<Load> {
        let middle = self.place(amount);
        let away = (0..=SIDE).map(f64::from);
        away.flat_map(|away| [middle + away, middle - away]).map(|place| self.load(place)).collect()
    }

    /// Whether `load` is within the loads of the round around `amount`.
    fn is_in_round(self, amount: f64, load: Load) -> bool {
        const ROUNDED: f64 = 1.0 + 1e-9;
        let round = self.round(amount);
        round.iter().any(|other| other.amount() <= load.amount() * ROUNDED)
            && round.iter().any(|other| load.amount() <= other.amount() * ROUNDED)
    }
}
