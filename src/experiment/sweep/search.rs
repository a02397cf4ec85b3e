//! Decides which run of a sweep comes next.

mod bracket;
mod curve;
mod demand;
mod forecast;
mod refine;
mod refinement;
mod tally;
mod tier;
mod window;

pub(in crate::experiment) use self::bracket::Bracket;
pub use self::demand::Unsearchable;

pub(super) use self::curve::BAND;
pub(super) use self::curve::crossing::{Crossing, LimitCrossing, Unsure};
pub(super) use self::demand::SearchDemand;
pub(super) use self::refinement::SearchTier;
pub(super) use self::tally::{LoadTally, Tightest, limit_crossings, tightest};

use self::refinement::Refinement;
use self::tally::tallies;
use super::answer::StopReason;
use super::load::Load;
use super::plan::SweepPlan;
use super::trial::{Trial, TrialRequest};
use crate::experiment::seeds::seed_of_run;

/// The shortest window, seconds, in which a server settles.
const SHORTEST_S: f64 = 10.0;
/// The search ends before it needs a run of more requests than this.
pub(super) const MOST_REQUESTS: f64 = 1e6;
/// More users are measured while they raise the rate by this share.
const GAIN: f64 = 0.02;

/// Step that the search wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// Carry out this run, and record what it found.
    Measure(TrialRequest),
    /// Nothing any more.
    Done(StopReason),
}

/// Search without clock or files. Stored runs lead it as new ones do.
///
/// A list or ladder is measured from low to high until enough loads in a row saturate the server. The automatic search
/// goes up until a load fails, or down until one passes, with one run each; bisects the bracket, with one run
/// each, until its ends are 30 % apart; and then refines in rounds: five loads around the estimate of all
/// runs so far get a run each. The first runs decide only where to measure next; all runs together decide the
/// answer. It checks whether the answer is narrow only after whole rounds: checking after every run would
/// stop it where chance makes the figures agree. It also ends when its time is over, which does not depend on
/// what the runs found; its runs are as long as fit in that time.
///
/// Each tier has a bracket and a refinement of its own, by the runs of all: a run is a vote for every tier. The next
/// run is the one that the tier wants of which the least is known, and the search ends when no tier wants one.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SweepPlan,
    demands: Vec<SearchDemand>,
    tiers: Vec<SearchTier>,
    trials: Vec<Trial>,
    /// Whether a load counts of which no run can be trusted.
    forced: bool,
}

impl Search {
    /// A search without trials.
    ///
    /// # Errors
    ///
    /// When an objective is of a kind that does not get worse with the load.
    pub fn new(plan: SweepPlan) -> Result<Self, Unsearchable> {
        let demands = SearchDemand::all(&plan.objectives)?;
        let tiers = SearchTier::all(&plan, &demands)?;
        Ok(Self { plan, demands, tiers, trials: Vec::new(), forced: false })
    }

    /// Returns a search that begins with its refinement. The highest load is probably near `from_per_s` of its plan.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn near(plan: SweepPlan) -> Result<Self, Unsearchable> {
        let mut search = Self::new(plan)?;
        search.tiers.iter_mut().for_each(|tier| tier.refinement = Some(Refinement::default()));
        Ok(search)
    }

    /// Returns the search, `forced` (`--force`) or not. A forced one goes on where no run of a load can be trusted:
    /// then those count.
    #[must_use]
    pub fn forced(self, forced: bool) -> Self {
        Self { forced, ..self }
    }

    /// The plan.
    pub fn plan(&self) -> &SweepPlan {
        &self.plan
    }

    /// The trials recorded so far, in order.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The objectives, and last that the server keeps up.
    pub(super) fn demands(&self) -> &[SearchDemand] {
        &self.demands
    }

    /// Takes in what a run found.
    pub fn record(&mut self, trial: Trial) {
        let excess = self.excess(&trial);
        self.count_refined(trial.load);
        self.trials.push(Trial { excess, ..trial });
        self.count_lost();
        self.begin_refinements();
    }

    /// Counts the runs of a load that has none to trust, where that is forced. That is done where no spare run is left.
    /// Once one can be trusted, none of the others counts.
    fn count_lost(&mut self) {
        let Some(load) = self.trials.last().map(|trial| trial.load).filter(|_| self.forced) else { return };
        let lost = LoadTally::new(load, &self.trials, &self.demands).is_lost(self.planned());
        let trusted = self.trials.iter().any(|trial| trial.load == load && trial.is_valid());
        for trial in self.trials.iter_mut().filter(|trial| trial.load == load && !trial.is_valid()) {
            trial.left_out = trusted || (trial.left_out && !lost);
        }
    }

    /// The next run, or why there is none.
    pub fn next(&self) -> SearchStep {
        match self.plan.axis.searched() {
            Some(_) => self.next_of_search(),
            None => self.next_of(self.plan.axis.loads()),
        }
    }

    fn next_of_search(&self) -> SearchStep {
        // A load without a trusted run says nothing about the server: it is repeated.
        let lost = self.tallies(&self.demands).into_iter().find(|tally| tally.counted == 0);
        match lost {
            Some(tally) if tally.is_lost(self.planned()) => return SearchStep::Done(StopReason::Untrusted),
            Some(tally) => return self.measure(tally.load),
            None => {}
        }
        if self.without_figure().is_some() {
            return SearchStep::Done(StopReason::NoFigure);
        }
        self.next_of_tiers()
    }

    /// The first demand for which no run has a figure although the server kept up.
    pub(super) fn without_figure(&self) -> Option<&SearchDemand> {
        let kept_up: Vec<_> = self.trials.iter().filter(|trial| !trial.left_out && trial.saturated.is_none()).collect();
        let unread = |demand: &&SearchDemand| self.trials.iter().all(|trial| demand.read(trial).is_none());
        if kept_up.is_empty() {
            return None;
        }
        self.demands.iter().find(unread)
    }

    /// Runs planned of each load; the search plans one, and more only where they help.
    fn planned(&self) -> u64 {
        if self.plan.axis.searched().is_some() { 1 } else { self.plan.repeats }
    }

    /// The loads, judged by `demands`.
    pub(super) fn tallies(&self, demands: &[SearchDemand]) -> Vec<LoadTally<'_>> {
        tallies(&self.trials, demands)
    }

    /// The loads of which some run counts, judged by `demands`.
    pub(super) fn counted(&self, demands: &[SearchDemand]) -> Vec<LoadTally<'_>> {
        self.tallies(demands).into_iter().filter(|tally| tally.counted > 0).collect()
    }

    /// The next of `loads`, which ascend.
    fn next_of(&self, loads: Vec<Load>) -> SearchStep {
        let tallies = self.tallies(&self.demands);
        let mut in_a_row = 0;
        let mut best_per_s = 0.0;
        for load in loads {
            if in_a_row >= self.plan.saturated_in_a_row.max(1) {
                return SearchStep::Done(StopReason::Saturated);
            }
            let Some(tally) = tallies.iter().find(|tally| tally.load == load) else {
                return self.measure(load);
            };
            if tally.wanted(self.planned()) > 0 {
                return self.measure(load);
            }
            let per_s = tally.completed_per_s().unwrap_or(0.0);
            let saturated = match load {
                Load::Rate(_) => tally.saturated,
                // Closed-loop users never overload a server: more of them only wait longer.
                Load::Users(_) | Load::Agents(_) => best_per_s > 0.0 && per_s < (1.0 + GAIN) * best_per_s,
            };
            in_a_row = if saturated { in_a_row + 1 } else { 0 };
            best_per_s = f64::max(best_per_s, per_s);
        }
        SearchStep::Done(StopReason::AllMeasured)
    }

    /// Returns the natural logarithm of a run's own rate ÷ the rate of its load. Its own rate is the one that it
    /// happened to have.
    fn excess(&self, trial: &Trial) -> f64 {
        match (trial.load, trial.offered_per_s) {
            (load @ Load::Rate(_), Some(offered)) if offered > 0.0 => libm::log(offered / self.requests_per_s(load)),
            _ => 0.0,
        }
    }

    /// Returns the runs of listed loads, each with the length of its window. None is carried out yet; a search has
    /// none.
    pub fn listed(&self) -> Vec<(Load, f64)> {
        let each = |load| std::iter::repeat_n((load, self.window_s(load)), self.plan.repeats as usize);
        self.plan.axis.loads().into_iter().flat_map(each).collect()
    }

    /// Runs that are still wanted at most, if none that is to come is spoiled.
    pub(super) fn runs_left(&self) -> u64 {
        let tallies = self.tallies(&self.demands);
        let wanted = |load: Load| {
            let tally = tallies.iter().find(|tally| tally.load == load);
            tally.map_or(self.plan.repeats, |tally| tally.wanted(self.plan.repeats))
        };
        match self.plan.axis.searched() {
            Some(_) => self.plan.most_trials.saturating_sub(self.trials.len() as u64),
            None => self.plan.axis.loads().into_iter().map(wanted).sum(),
        }
    }

    fn measure(&self, load: Load) -> SearchStep {
        let number = self.trials.len() as u64 + 1;
        let repeat = self.trials.iter().filter(|trial| trial.load == load).count() as u64 + 1;
        SearchStep::Measure(TrialRequest {
            number,
            load,
            repeat,
            seed: seed_of_run(self.plan.first_seed, number),
            window_s: self.window_s(load),
            run: TrialRequest::folder(number),
        })
    }
}

#[cfg(test)]
mod agents;
#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::sweep::plan::LoadAxis;

    fn plan(axis: LoadAxis) -> SweepPlan {
        SweepPlan {
            axis,
            repeats: 1,
            samples: 100,
            longest_s: 1_000.0,
            precision: 0.05,
            most_trials: 9,
            saturated_in_a_row: 2,
            first_seed: 1,
            ..SweepPlan::default()
        }
    }

    fn first_window_s(axis: LoadAxis, shortest_s: Option<f64>, fewest_users_per_s: Option<f64>) -> f64 {
        window_s_of(SweepPlan { shortest_s, fewest_users_per_s, ..plan(axis) })
    }

    fn window_s_of(plan: SweepPlan) -> f64 {
        match Search::new(plan).unwrap().next() {
            SearchStep::Measure(wanted) => wanted.window_s,
            SearchStep::Done(reason) => panic!("{reason:?}"),
        }
    }

    #[test]
    fn a_window_holds_the_samples_and_is_no_shorter_than_asked() {
        let rate = || LoadAxis::List { rates_per_s: vec![2.0] };
        assert!((first_window_s(rate(), None, None) - 65.0).abs() < 1e-9);
        assert!((first_window_s(rate(), Some(90.0), None) - 90.0).abs() < 1e-9);
        let users = || LoadAxis::Users { users: vec![1] };
        assert!((first_window_s(users(), None, None) - 1_000.0).abs() < 1e-9);
        assert!((first_window_s(users(), None, Some(4.0)) - 32.5).abs() < 1e-9);
        let conversations = SweepPlan { requests_per_arrival: Some(5.0), ..plan(rate()) };
        assert!((window_s_of(conversations) - 13.0).abs() < 1e-9, "ten requests a second");
    }

    #[test]
    fn a_cost_is_not_searched() {
        let objectives = vec!["cost_per_answer < 1".parse().unwrap()];
        let refused = Search::new(SweepPlan { objectives, ..plan(LoadAxis::search_from(8.0)) }).unwrap_err();
        assert!(refused.to_string().contains("it falls as the load rises"), "{refused}");
    }

    #[test]
    fn a_search_in_which_nothing_fails_ends() {
        let plan = SweepPlan { most_trials: 10_000, ..plan(LoadAxis::search_from(8.0)) };
        let mut search = Search::new(plan).unwrap();
        let mut highest = 0.0;
        let reason = loop {
            match search.next() {
                SearchStep::Measure(wanted) => {
                    highest = wanted.load.amount();
                    search.record(Trial::kept_up(&wanted));
                }
                SearchStep::Done(reason) => break reason,
            }
        };
        assert_eq!((reason, highest), (StopReason::Endless, 65_536.0));
    }
}
