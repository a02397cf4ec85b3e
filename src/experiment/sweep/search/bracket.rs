//! The bracketing phase of the automatic search: double until a load fails, then bisect.

use super::tally::LoadTally;
use crate::experiment::sweep::answer::StopReason;

/// The refinement begins when the ends of the bracket are this factor apart.
const ROUGH: f64 = 1.3;
/// The lowest load is this factor under the first: eight halvings.
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
    fn of(tallies: &[LoadTally<'_>]) -> Option<Self> {
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

/// The next step of a search that began at `from` requests per second.
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
