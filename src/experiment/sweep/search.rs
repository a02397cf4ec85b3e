//! Decides which run of a sweep comes next.

use super::{Load, LoadAxis, StopReason, SweepPlan, Trial, Wanted};
use crate::analysis::Objective;
use crate::experiment::seed_of_run;

/// The shortest window, seconds: under it a server hardly settles.
const SHORTEST_S: f64 = 10.0;

/// What the search wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This run, and to be told of it.
    Measure(Wanted),
    /// Nothing any more.
    Done(StopReason),
}

/// A search: pure, without clock or files, so that it goes through stored runs as through new ones.
#[derive(Clone, Debug)]
pub struct Search {
    pub(super) plan: SweepPlan,
    pub(super) objectives: Vec<Objective>,
    pub(super) trials: Vec<Trial>,
}

impl Search {
    /// A search that has seen nothing yet; `objectives` are those of the plan, read.
    #[must_use]
    pub fn new(plan: SweepPlan, objectives: Vec<Objective>) -> Self {
        Self { plan, objectives, trials: Vec::new() }
    }

    /// What was asked.
    #[must_use]
    pub fn plan(&self) -> &SweepPlan {
        &self.plan
    }

    /// What the highest load has to meet.
    #[must_use]
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// What it was told, in that order.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Takes in what a run said.
    pub fn tell(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// The next run, or why there is none.
    #[must_use]
    pub fn next(&self) -> Step {
        let loads = self.ladder();
        let next = loads.into_iter().find(|load| self.runs_of(*load) < self.plan.repeats);
        next.map_or(Step::Done(StopReason::AllMeasured), |load| Step::Measure(self.wanted(load)))
    }

    fn runs_of(&self, load: Load) -> u64 {
        self.trials.iter().filter(|trial| trial.load == load).count() as u64
    }

    fn wanted(&self, load: Load) -> Wanted {
        let number = self.trials.len() as u64 + 1;
        let repeat = self.runs_of(load) + 1;
        let per_s = match load {
            Load::Rate(per_s) => per_s,
            Load::Users(users) => users as f64,
        };
        let samples = self.plan.samples as f64;
        let window_s = (samples / per_s).max(SHORTEST_S).min(self.plan.longest_s);
        let run = format!("run-{number:03}");
        Wanted { number, load, repeat, seed: seed_of_run(self.plan.first_seed, number), window_s, run }
    }

    /// The loads of a list or a ladder, ascending.
    fn ladder(&self) -> Vec<Load> {
        match &self.plan.axis {
            LoadAxis::List { rates_per_s } => rates_per_s.iter().copied().map(Load::Rate).collect(),
            LoadAxis::Users { users } => users.iter().copied().map(Load::Users).collect(),
            LoadAxis::Geometric { from_per_s, to_per_s, ratio } => {
                let below = std::iter::successors(Some(*from_per_s), |rate| Some(rate * ratio));
                let below = below.take_while(|rate| *rate < to_per_s / (1.0 + 1e-9));
                below.chain([*to_per_s]).map(Load::Rate).collect()
            }
            LoadAxis::Automatic { from_per_s } => vec![Load::Rate(*from_per_s)],
        }
    }
}
