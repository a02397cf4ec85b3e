//! How long a search takes, as far as can be said before its end.

use super::refine::ROUND;
use super::refinement::SearchTier;
use super::tally::{Tightest, tightest};
use super::{SHORTEST_S, Search, SearchStep};
use crate::experiment::sweep::load::Load;
use crate::experiment::sweep::plan::{GRACE, RUNS_OF_INTERVAL};

/// Runs until a search that begins near its answer has a bracket.
const RUNS_OF_BRACKET: u64 = 2;
/// Worth of a share's requests, the median of searches on queues in virtual time. It is the square of an interval's
/// width in logarithms × the requests of the runs behind it × the variance of one request's share.
const WORTH: f64 = 2.4;
/// Counterpart of [`WORTH`] for a magnitude. Its requests have a variance of about 1 in logarithms.
const WORTH_OF_MAGNITUDE: f64 = 42.0;

impl Search {
    /// Returns the seconds that all runs and what is between them take. They are what they will have taken in the end,
    /// as far as can be said now.
    pub fn expected_s(&self) -> f64 {
        let Some((first, _)) = self.plan.axis.searched() else {
            let listed = self.listed();
            return listed.iter().map(|(_, window_s)| window_s + self.plan.between_s).sum();
        };
        let done = self.trials.len() as u64;
        let spent_s = self.spent_s();
        let load = self.crossing().map_or(first, |amount| first.of_amount(amount));
        let run_s = |samples| self.window_of(samples, load) + self.plan.between_s;
        let bracket = if self.refined_from().is_none() { RUNS_OF_BRACKET.saturating_sub(done).max(1) } else { 0 };
        let begun_s = spent_s + bracket as f64 * run_s(self.plan.first_samples.unwrap_or(self.plan.samples));
        let most = self.plan.most_trials.saturating_sub(done + bracket);
        let left = |runs: &dyn Fn(&SearchTier) -> u64| {
            let of = |tier: &SearchTier| runs(tier).saturating_sub(tier.refined() as u64);
            self.tiers.iter().map(of).fold(0, u64::saturating_add).min(most)
        };
        let run_s = run_s(self.plan.samples);
        match self.plan.within_s {
            // It ends before a run that would be over too late.
            Some(within_s) if self.interval().is_ok() => spent_s.max(within_s - run_s / 2.0),
            Some(within_s) => {
                let until_interval = begun_s + left(&|_| RUNS_OF_INTERVAL) as f64 * run_s;
                within_s.max(until_interval.min(GRACE * within_s))
            }
            None => begun_s + left(&|tier| self.runs_of_refinement(tier, load)) as f64 * run_s,
        }
    }

    /// Seconds within which an answer has an interval: of the shortest runs that it takes.
    pub fn least_s(&self) -> f64 {
        (RUNS_OF_BRACKET + self.plan.runs_of_intervals()) as f64 * (SHORTEST_S + self.plan.between_s)
    }

    /// Returns the seconds that an answer with an interval takes after so many. It is `None` unless the search ends
    /// sooner.
    pub fn lacks_s(&self, before_s: f64) -> Option<f64> {
        let least_s = before_s + self.least_s();
        self.plan.within_s.filter(|within_s| GRACE * within_s < least_s).map(|_| least_s)
    }

    /// Returns the runs that are still wanted, and the seconds that they take. They are as far as can be said now. It
    /// is `None` where none is.
    pub fn left(&self) -> Option<(u64, f64)> {
        let SearchStep::Measure(next) = self.next() else { return None };
        let next_s = next.window_s + self.plan.between_s;
        if self.plan.axis.searched().is_none() {
            let runs = self.runs_left().max(1);
            return Some((runs, runs as f64 * next_s));
        }
        let left_s = (self.expected_s() - self.spent_s()).max(next_s);
        Some(((left_s / next_s).round() as u64, left_s))
    }

    /// Runs of the refinement of `tier` until its interval is narrow, in whole rounds.
    fn runs_of_refinement(&self, tier: &SearchTier, load: Load) -> u64 {
        let by_worth = || {
            let a_run = self.window_of(self.plan.samples, load) * self.pace(load).unwrap_or(1.0);
            self.worth(tier) / (self.wanted() * self.wanted()) / a_run
        };
        self.in_rounds(self.runs_by_width(tier).unwrap_or_else(by_worth))
    }

    /// Returns the runs until each interval is as narrow as requested, in whole rounds. It is by how wide the intervals
    /// are now. It is `None` while one is missing.
    pub(in crate::experiment) fn runs_until_narrow(&self) -> Option<u64> {
        let left = |tier| Some(self.in_rounds(self.runs_by_width(tier)?).saturating_sub(tier.refined() as u64));
        self.tiers.iter().map(left).sum()
    }

    /// Returns all runs that make the interval as narrow as requested. Its width falls with the root of their number.
    fn runs_by_width(&self, tier: &SearchTier) -> Option<f64> {
        let (low, high) = self.interval_of(tier).ok()?;
        let narrower = libm::log(high / low) / self.wanted();
        (tier.refined() > 0).then(|| tier.refined() as f64 * narrower * narrower)
    }

    fn in_rounds(&self, runs: f64) -> u64 {
        let rounds = (runs / ROUND as f64).ceil().max(self.plan.repeats as f64);
        (rounds as u64).saturating_mul(ROUND as u64)
    }

    /// Width that the interval is to have, in logarithms.
    fn wanted(&self) -> f64 {
        libm::log(1.0 + self.plan.precision)
    }

    /// Returns requests × the square of the interval's width. It is that of the demand that decides or whose limit is
    /// the strictest.
    fn worth(&self, tier: &SearchTier) -> f64 {
        let decides = match tightest(&self.trials, &tier.demands) {
            Tightest::Crosses(place, _) => Some(place),
            Tightest::Open | Tightest::Missed(_) => None,
        };
        let objectives = &tier.demands[..tier.demands.len() - 1];
        let of = |limit: Option<f64>| limit.map_or(WORTH_OF_MAGNITUDE, |p| WORTH / (p * (1.0 - p)));
        let all = objectives.iter().map(|demand| of(demand.share_limit()));
        decides.and_then(|place| all.clone().nth(place)).or_else(|| all.reduce(f64::max)).unwrap_or_default()
    }
}
