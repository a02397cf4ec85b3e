//! Steps of a search with several tiers: every run is a vote for all of them.

use super::bracket::{self, Bracket, Next};
use super::refinement::{Refinement, SearchTier};
use super::{Search, SearchStep};
use crate::experiment::sweep::answer::StopReason;
use crate::experiment::sweep::load::Load;

impl Search {
    /// The tiers; one without a name where the sweep has none.
    pub(in crate::experiment::sweep) fn tiers(&self) -> &[SearchTier] {
        &self.tiers
    }

    /// Returns the number of trials when the last tier began its refinement. It is `None` while a tier has no bracket.
    pub(super) fn refined_from(&self) -> Option<usize> {
        let is_open = |tier: &SearchTier| matches!(self.bracketing(tier), Next::Measure(_));
        if self.tiers.iter().any(|tier| tier.refinement.is_none() && is_open(tier)) {
            return None;
        }
        self.tiers.iter().filter_map(|tier| tier.refinement.as_ref()).map(|refinement| refinement.from).max()
    }

    /// The next step of a search. Of what its tiers want, it is the most informative.
    pub(super) fn next_of_tiers(&self) -> SearchStep {
        let mut ends = Vec::new();
        let mut wanted: Vec<(&SearchTier, Load)> = Vec::new();
        for tier in &self.tiers {
            let next = match &tier.refinement {
                Some(refinement) => self.refine(tier, refinement),
                None => self.bracketing(tier),
            };
            match next {
                Next::Measure(load) => wanted.push((tier, load)),
                // The refinement begins when the bracket is narrow enough.
                Next::Refine => ends.push(StopReason::Narrow),
                Next::Done(reason) => ends.push(reason),
            }
        }
        // A tier that no load fails does not keep the others from their answers.
        let (near, beyond): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, load)| !self.is_beyond_all(*load));
        let next = self.least_known(near).or_else(|| beyond.first().map(|(_, load)| *load));
        let Some(load) = next else {
            let is_narrow = ends.contains(&StopReason::Narrow);
            let first = ends.first().copied().filter(|_| !is_narrow);
            return SearchStep::Done(first.unwrap_or(StopReason::Narrow));
        };
        if self.trials.len() as u64 >= self.plan.most_trials {
            SearchStep::Done(StopReason::TrialsSpent)
        } else if self.is_out_of_time(load) {
            SearchStep::Done(StopReason::TimeSpent)
        } else if self.is_beyond_all(load) {
            SearchStep::Done(StopReason::Endless)
        } else {
            self.measure(load)
        }
    }

    /// Returns the load that the least known tier wants. It is one without an interval, then that of the widest.
    fn least_known(&self, wanted: Vec<(&SearchTier, Load)>) -> Option<Load> {
        let unknown = |tier: &SearchTier| match self.interval_of(tier) {
            Ok((low, high)) => (false, libm::log(high / low)),
            Err(_) => match Bracket::from_tallies(&self.counted(&tier.demands)) {
                Bracket { met: Some(met), missed: Some(missed) } => (true, libm::log(missed / met)),
                _ => (true, f64::INFINITY),
            },
        };
        let all = wanted.into_iter().map(|(tier, load)| (unknown(tier), load));
        let least = all.reduce(|least, next| if next.0 > least.0 { next } else { least });
        least.map(|(_, load)| load)
    }

    /// The next step of the bracketing phase of `tier`.
    pub(super) fn bracketing(&self, tier: &SearchTier) -> Next {
        let bracketed = |(first, step): (_, Option<f64>)| {
            bracket::bracketed(&self.counted(&tier.demands), first, step.unwrap_or(bracket::STEP))
        };
        self.plan.axis.searched().map_or(Next::Done(StopReason::AllMeasured), bracketed)
    }

    /// Counts a run under `load` in the refinements of the tiers that it is near.
    pub(super) fn count_refined(&mut self, load: Load) {
        let place = self.trials.len();
        let is_near: Vec<_> = self.tiers.iter().map(|tier| self.is_in_round(tier, load)).collect();
        let refined = self.tiers.iter_mut().zip(is_near).filter(|(_, is_near)| *is_near);
        refined.filter_map(|(tier, _)| tier.refinement.as_mut()).for_each(|refinement| refinement.runs.push(place));
    }

    /// Begins the refinement of each tier whose bracket is narrow now.
    pub(super) fn begin_refinements(&mut self) {
        let from = self.trials.len();
        let begins = |tier: &SearchTier| tier.refinement.is_none() && self.bracketing(tier) == Next::Refine;
        let begins: Vec<_> = self.tiers.iter().map(begins).collect();
        for (tier, _) in self.tiers.iter_mut().zip(begins).filter(|(_, begins)| *begins) {
            tier.refinement = Some(Refinement { from, runs: Vec::new() });
        }
    }
}
