//! The automatic search: up until a load fails, bisect, then refine in rounds of runs around the estimate, until its
//! interval is narrow enough.

use super::demand::SearchDemand;
use super::tally::{LoadTally, Tightest, tallies, tightest};
use crate::experiment::sweep::answer::StopReason;
use crate::experiment::sweep::plan::{Load, LoadAxis, SweepPlan};
use crate::experiment::sweep::trial::Trial;
use crate::record::Repeat;

/// Factor from the highest load to the next, where chance ended the bracket of a search that began anywhere.
const AWAY: f64 = 1.5;
/// Loads of a round on either side of the middle one.
const SIDE: u8 = 2;
/// Loads of a round.
pub(super) const ROUND: usize = 2 * SIDE as usize + 1;

/// A search whose first `from` trials were for the bracket.
pub(super) struct Refinement<'a> {
    pub(super) plan: &'a SweepPlan,
    pub(super) demands: &'a [SearchDemand],
    pub(super) trials: &'a [Trial],
    pub(super) from: usize,
}

impl Refinement<'_> {
    /// The next rate, or why there is none.
    pub(super) fn next(&self) -> Next {
        let (plan, trials) = (self.plan, self.trials);
        let LoadAxis::Automatic { from_per_s, first_step } = plan.axis else {
            return Next::Done(StopReason::AllMeasured);
        };
        let refined = (self.from..trials.len()).filter(|&place| self.is_used(place)).count();
        let rounds = (refined / ROUND) as u64;
        if refined.is_multiple_of(ROUND) && rounds >= plan.repeats.max(1) && self.is_narrow() {
            return Next::Done(StopReason::Narrow);
        }
        let grid = RateGrid { from_per_s };
        let decides = tightest(trials, self.demands);
        let Some(crossing) = decides.crossing() else {
            // A search that began near its answer stays there.
            let away = first_step.map_or(AWAY, libm::sqrt);
            let beyond = self.beyond(decides, away).unwrap_or(from_per_s);
            return Next::Measure(grid.nearest(beyond));
        };
        let rates = grid.round(crossing.estimate);
        let of_rate = |place: usize, rate| trials[place].load == Load::Rate(rate) && self.is_used(place);
        let runs = |rate: f64| (0..trials.len()).filter(|&place| of_rate(place, rate)).count();
        // Of the loads with the fewest runs, the first: the middle, then its neighbours.
        rates
            .into_iter()
            .min_by_key(|rate| runs(*rate))
            .map_or(Next::Done(StopReason::AllMeasured), Next::Measure)
    }

    /// Whether no run replaces the trial at `place`: it counts, or its load has no spare run left.
    fn is_used(&self, place: usize) -> bool {
        let trial = &self.trials[place];
        let disturbed = |before: &&Trial| before.load == trial.load && before.left_out;
        let replaced = self.trials[..place].iter().filter(disturbed).count() as u64;
        !trial.left_out || replaced >= Repeat::MOST_SPARE
    }

    /// The next load when all runs together cross no limit: chance ended the bracket, and the highest load lies
    /// above all measured loads, or below.
    fn beyond(&self, decides: Tightest, away: f64) -> Option<f64> {
        let tallies = tallies(self.trials, self.demands);
        let (lowest, highest) = (tallies.first()?, tallies.last()?);
        let above = highest.passes && !matches!(decides, Tightest::Missed(_));
        Some(if above { highest.load.amount() * away } else { lowest.load.amount() / away })
    }

    /// Whether the interval is as narrow as requested.
    fn is_narrow(&self) -> bool {
        let crossing = tightest(self.trials, self.demands).crossing();
        let interval = crossing.and_then(|crossing| crossing.interval.ok());
        interval.is_some_and(|(low, high)| high / low <= 1.0 + self.plan.precision + 1e-9)
    }
}

/// The grid of rates for the refinement, so that several rounds share rates. It does not depend on the
/// requested precision, so that a search that is resumed with another finds its runs.
#[derive(Clone, Copy, Debug)]
struct RateGrid {
    from_per_s: f64,
}

impl RateGrid {
    /// Logarithm of the ratio of neighbouring rates, ln 1.05: a round reaches a tenth to both sides of the
    /// estimate. A line through its loads gives the slope there, and the curve is nearly straight between
    /// them.
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

/// The refinement begins when the ends of the bracket are this factor apart.
const ROUGH: f64 = 1.3;
/// The lowest load is about this factor under the first.
const DEEPEST: f64 = 256.0;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// A run at this rate.
    Measure(f64),
    /// The bracket is narrow enough for the refinement.
    Refine,
    /// Nothing.
    Done(StopReason),
}

/// The largest load that passed below the smallest that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bracket {
    passed: f64,
    failed: f64,
}

impl Bracket {
    /// The bracket of these ascending loads; `None` where all passed, or the lowest failed.
    fn from_tallies(tallies: &[LoadTally<'_>]) -> Option<Self> {
        let over = tallies.iter().position(|tally| !tally.passes)?;
        let passed = tallies[over.checked_sub(1)?].load.amount();
        Some(Self { passed, failed: tallies[over].load.amount() })
    }

    /// Upper end ÷ lower end.
    fn ratio(self) -> f64 {
        self.failed / self.passed
    }

    fn middle(self) -> f64 {
        libm::sqrt(self.passed * self.failed)
    }
}

/// Factor between one load and the next where nothing is known.
pub(super) const STEP: f64 = 2.0;

/// The next step of a search that began at `from` requests per second. Its first step is the factor `first_step`; each
/// further one is its square, up to 2.
pub(super) fn bracketed(tallies: &[LoadTally<'_>], from: f64, first_step: f64) -> Next {
    let (Some(lowest), Some(highest)) = (tallies.first(), tallies.last()) else {
        return Next::Measure(from);
    };
    let (lowest, highest) = (lowest.load.amount(), highest.load.amount());
    let squared = libm::exp2(tallies.len() as f64 - 1.0);
    let step = libm::pow(first_step, squared).clamp(first_step.min(STEP), STEP);
    match Bracket::from_tallies(tallies) {
        Some(bracket) if bracket.ratio() <= ROUGH => Next::Refine,
        Some(bracket) => Next::Measure(bracket.middle()),
        None if tallies.iter().all(|tally| tally.passes) => Next::Measure(step * highest),
        None if lowest > from / DEEPEST * (1.0 + 1e-9) => Next::Measure(lowest / step),
        None => Next::Done(StopReason::NothingPasses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_stays_near_the_estimate() {
        let rates = RateGrid { from_per_s: 1.0 }.round(40.0);
        let reach = rates.iter().map(|rate| (rate / 40.0).ln().abs()).fold(0.0, f64::max);
        assert!((0.08..0.13).contains(&reach), "{rates:?}");
    }
}
