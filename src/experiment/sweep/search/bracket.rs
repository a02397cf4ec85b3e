//! The bracket of a search: up until a load fails, or down until one passes, then the middle until both ends are near.

use super::tally::LoadTally;
use crate::experiment::sweep::answer::StopReason;
use crate::experiment::sweep::load::Load;

/// The refinement begins when the ends of the bracket are this factor apart.
const ROUGH: f64 = 1.3;
/// The lowest load is about this factor under the first.
const DEEPEST: f64 = 256.0;

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// A run under this load.
    Measure(Load),
    /// The bracket is narrow enough for the refinement.
    Refine,
    /// Nothing.
    Done(StopReason),
}

/// Highest load met below the lowest that is missed, as far as there are such.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::experiment) struct Bracket {
    /// The highest that is met.
    pub(in crate::experiment) met: Option<f64>,
    /// The lowest that is missed.
    pub(in crate::experiment) missed: Option<f64>,
}

impl Bracket {
    /// The bracket of these ascending loads.
    pub(in crate::experiment) fn from_tallies(tallies: &[LoadTally<'_>]) -> Self {
        let over = tallies.iter().position(|tally| !tally.passes).unwrap_or(tallies.len());
        let amount = |place: usize| tallies.get(place).map(|tally| tally.load.amount());
        Self { met: over.checked_sub(1).and_then(amount), missed: amount(over) }
    }

    /// Returns the next load. It is `first` of all, a `step` beyond the one known end, and the middle between two ends.
    /// It is `None` where these are so `near` to each other, as a ratio.
    pub(in crate::experiment) fn next(self, first: f64, step: f64, near: f64) -> Option<f64> {
        match (self.met, self.missed) {
            (None, None) => Some(first),
            (Some(met), None) => Some(met * step),
            (None, Some(missed)) => Some(missed / step),
            (Some(met), Some(missed)) => (missed > met * near).then(|| libm::sqrt(met * missed)),
        }
    }
}

/// Factor between one load and the next where nothing is known.
pub(super) const STEP: f64 = 2.0;

/// The next step of a search that began at the load `first`. Its first step is the factor `first_step`; each further
/// one is its square, up to 2. Of agents the ends may be neighbours before they are near.
pub(super) fn bracketed(tallies: &[LoadTally<'_>], first: Load, first_step: f64) -> Next {
    let from = first.amount();
    let squared = libm::exp2(tallies.len() as f64 - 1.0);
    let step = libm::pow(first_step, squared).clamp(first_step.min(STEP), STEP);
    let bracket = Bracket::from_tallies(tallies);
    let is_deep = |lowest: f64| bracket.met.is_none() && lowest <= from / DEEPEST * (1.0 + 1e-9);
    let is_end = |load: &Load| [bracket.met, bracket.missed].contains(&Some(load.amount()));
    match bracket.next(from, step, ROUGH).map(|amount| first.of_amount(amount)) {
        None => Next::Refine,
        Some(_) if bracket.missed.is_some_and(is_deep) => Next::Done(StopReason::NothingPasses),
        Some(load) if is_end(&load) && bracket.met.is_none() => Next::Done(StopReason::NothingPasses),
        Some(load) if is_end(&load) => Next::Refine,
        Some(load) => Next::Measure(load),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_steps_to_its_missing_end_and_then_halves() {
        let next = |met, missed| Bracket { met, missed }.next(4.0, 2.0, 1.25);
        assert_eq!((next(None, None), next(Some(4.0), None), next(None, Some(4.0))), (Some(4.0), Some(8.0), Some(2.0)));
        assert_eq!((next(Some(4.0), Some(9.0)), next(Some(4.0), Some(5.0))), (Some(6.0), None));
    }
}
