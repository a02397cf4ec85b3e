//! The first part of the automatic search: double until a load fails, then halve the bracket.

use super::tally::LoadTally;
use crate::experiment::sweep::answer::StopReason;

/// The ends of a bracket this many times apart are near enough for the refinement.
const ROUGH: f64 = 1.3;
/// The lowest load is this many times under the one that was to be begun with: eight halvings.
const DEEPEST: f64 = 256.0;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// A run at this rate.
    Measure(f64),
    /// The refinement: the largest rate that passed and the smallest that failed are near each other.
    Refine,
    /// Nothing.
    Done(StopReason),
}

/// The largest load that passed below the smallest that failed, by what their runs say.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bracket {
    passed: f64,
    failed: f64,
}

impl Bracket {
    /// Of these loads, ascending; `None` where all passed, or the lowest failed.
    fn of(tallies: &[LoadTally<'_>]) -> Option<Self> {
        let over = tallies.iter().position(|tally| !tally.passes)?;
        let passed = tallies[over.checked_sub(1)?].load.amount();
        Some(Self { passed, failed: tallies[over].load.amount() })
    }

    /// How many times its upper end is the lower.
    fn ratio(self) -> f64 {
        self.failed / self.passed
    }

    fn middle(self) -> f64 {
        libm::sqrt(self.passed * self.failed)
    }
}

/// The next of a search that began at `from` requests per second.
pub(super) fn next(tallies: &[LoadTally<'_>], from: f64) -> Next {
    let (Some(lowest), Some(highest)) = (tallies.first(), tallies.last()) else {
        return Next::Measure(from);
    };
    let (lowest, highest) = (lowest.load.amount(), highest.load.amount());
    match Bracket::of(tallies) {
        Some(bracket) if bracket.ratio() <= ROUGH => Next::Refine,
        Some(bracket) => Next::Measure(bracket.middle()),
        None if tallies.iter().all(|tally| tally.passes) => Next::Measure(2.0 * highest),
        None if lowest > from / DEEPEST * (1.0 + 1e-9) => Next::Measure(lowest / 2.0),
        None => Next::Done(StopReason::NothingPasses),
    }
}
