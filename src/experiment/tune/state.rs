//! What is known of a tuning: its variants, their runs, which of them is the best and which are dropped.

use serde::{Deserialize, Serialize};

use super::axes::TuneCandidate;
use super::course::{Course, TuneTrial};
use super::file::TuneSpec;
use super::outlook::Forecast;
use crate::analysis::Objective;
use crate::experiment::driver::InvalidRuns;
use crate::experiment::sweep::{HighestLoad, LoadAxis, Search, SweepPlan, Trial};

/// The chance that a variant is dropped that does as well as those that it is compared with, at most.
pub(super) const ERROR: f64 = 0.05;
/// How often each half of a comparison may be wrong: a variant has one in each round.
const DOUBT: f64 = ERROR / 2.0 / ROUNDS as f64;
/// Rounds in which variants are dropped; runs of each are twice as long as those of the one before.
pub(super) const ROUNDS: usize = 3;
/// The most runs: of each variant, and of all beside that.
const MOST_OF_EACH: u64 = 3;
const MOST_BESIDE: u64 = 30;
/// Requests of a run of the first round, for each that the strictest objective allows over its bound.
const REQUESTS: f64 = 10.0;
/// Multiples of the winner's probable load at which it runs at the end, as long as its load is not known to ±10 %.
const AT_THE_END: [f64; 6] = [0.95, 1.05, 0.9, 1.1, 1.0, 0.85];
/// That, as the ratio of the ends of its interval.
const KNOWN: f64 = 1.2;

/// How long runs are and where they begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TuneRuns {
    /// Requests per second of the first run, for each accelerator.
    pub first_per_gpu: f64,
    /// Length of the runs of the first round, where that is fixed; else it follows from the requests that a verdict needs.
    pub window_s: Option<f64>,
    /// The shortest and the longest window of the first round, seconds.
    pub shortest_s: f64,
    /// The longest of them.
    pub longest_s: f64,
    /// The most runs, where that is limited.
    pub most: Option<u64>,
    /// Seed of the runs of the first round.
    pub seed: u64,
}

/// Why a tuning started no more runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneStopped {
    /// It was over.
    Finished,
    /// It had as many runs as it may have.
    OutOfRuns,
    /// This machine cannot be trusted with more runs.
    Refused,
    /// The user stopped it; or what was stored of it ends there.
    Interrupted,
}

/// A flag that the diagnosis named, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedAxis {
    /// The flag.
    pub axis: String,
    /// What held the best variant back.
    pub because: String,
    /// Its value in that variant.
    pub from: String,
    /// Its value in the variant that ran next, which differs in nothing else.
    pub to: String,
    /// That variant.
    pub variant: String,
    /// Whether it then was the best; absent before it has run.
    pub helped: Option<bool>,
}

/// All that is known of a tuning.
#[derive(Clone, Debug)]
pub(super) struct TuneState {
    pub(super) spec: TuneSpec,
    pub(super) candidates: Vec<TuneCandidate>,
    pub(super) runs: TuneRuns,
    pub(super) invalid: InvalidRuns,
    pub(super) courses: Vec<Course>,
    /// What was predicted of each before it ran.
    pub(super) forecasts: Vec<Option<Forecast>>,
    /// What the forecaster could not say.
    pub(super) note: Option<String>,
    pub(super) named: Vec<NamedAxis>,
    /// How often a server was started.
    pub(super) starts: u64,
    pub(super) ending: Option<TuneStopped>,
}

impl TuneState {
    pub(super) fn new(spec: TuneSpec, runs: TuneRuns, invalid: InvalidRuns) -> Self {
        let candidates = spec.candidates();
        Self {
            courses: vec![Course::default(); candidates.len()],
            forecasts: vec![None; candidates.len()],
            spec,
            candidates,
            runs,
            invalid,
            note: None,
            named: Vec::new(),
            starts: 0,
            ending: None,
        }
    }

    /// The most runs that it takes.
    pub(super) fn most_runs(&self) -> u64 {
        self.runs.most.unwrap_or(MOST_OF_EACH * self.candidates.len() as u64 + MOST_BESIDE)
    }

    /// Runs that ended.
    pub(super) fn trials(&self) -> u64 {
        self.courses.iter().map(|course| course.trials.len() as u64).sum()
    }

    /// The variant that meets the highest load in `round`; of several the one that ran first.
    fn best_of(&self, round: usize) -> Option<usize> {
        let met = |place: &usize| self.courses[*place].met(round);
        // What a variant met counts where its server failed later, too.
        let known = (0..self.courses.len()).filter(|place| met(place).is_some());
        known.reduce(|best, other| {
            let first = |place: usize| self.courses[place].trials.first().map(|trial| trial.number);
            let ahead = met(&other).partial_cmp(&met(&best));
            let earlier = first(other) < first(best);
            if ahead.is_some_and(|order| order.is_gt() || (order.is_eq() && earlier)) { other } else { best }
        })
    }

    /// The best variant so far: that of the last round in which one met a load.
    pub(super) fn best(&self) -> Option<usize> {
        (1..=ROUNDS).rev().find_map(|round| self.best_of(round))
    }

    fn is_served(&self, place: usize) -> bool {
        self.courses[place].failed.is_none()
    }

    /// The load that the best variant of `round` meets, for another one.
    pub(super) fn bar(&self, place: usize, round: usize) -> Option<f64> {
        let best = self.best_of(round).filter(|best| *best != place)?;
        self.courses[best].met(round)
    }

    /// The variant that surely does better than this one on the same requests, and this one's run.
    pub(super) fn beaten_by(&self, place: usize) -> Option<(usize, &TuneTrial)> {
        self.courses[place].trials.iter().rev().find_map(|own| {
            let others = (0..self.courses.len()).filter(|other| *other != place);
            let mut pairs =
                others.flat_map(|other| self.courses[other].trials.iter().map(move |t| (other, t)));
            let (other, _) = pairs.find(|(_, theirs)| own.is_surely_worse(theirs, DOUBT))?;
            Some((other, own))
        })
    }

    /// Variants that may yet be the best.
    pub(super) fn survivors(&self) -> Vec<usize> {
        let runs = |place: &usize| self.is_served(*place) && self.courses[*place].has_begun();
        (0..self.candidates.len()).filter(runs).filter(|place| self.beaten_by(*place).is_none()).collect()
    }

    /// The load at which a variant ends to meet the objectives, from its longest runs as a sweep has it.
    pub(super) fn highest(&self, place: usize) -> Option<HighestLoad> {
        let course = &self.courses[place];
        let long = course.trials.iter().zip(&course.swept).filter(|(trial, _)| trial.round >= ROUNDS);
        let long: Vec<&Trial> = long.map(|(_, swept)| swept).collect();
        let plan = SweepPlan {
            axis: LoadAxis::List { rates_per_s: long.iter().map(|trial| trial.load.amount()).collect() },
            objectives: self.spec.objectives.clone(),
            repeats: 1,
            samples: 1,
            requests_per_arrival: None,
            shortest_s: None,
            longest_s: self.runs.longest_s,
            fewest_users_per_s: None,
            precision: KNOWN - 1.0,
            most_trials: self.most_runs(),
            saturated_in_a_row: u64::MAX,
            first_seed: self.runs.seed,
        };
        let mut search = Search::new(plan).ok()?;
        long.into_iter().cloned().for_each(|trial| search.record(trial));
        search.answer()
    }

    /// The interval of that load for each accelerator, where there is one.
    pub(super) fn interval(&self, place: usize) -> Option<(f64, f64)> {
        let gpus = f64::from(self.candidates[place].gpus);
        let answer = self.highest(place)?;
        Some((answer.interval_low? / gpus, answer.interval_high? / gpus))
    }

    /// The next load of the winner at the end; `None` where enough is known.
    pub(super) fn last_load(&self, place: usize) -> Option<f64> {
        let course = &self.courses[place];
        let here = course.trials.iter().filter(|trial| trial.round > ROUNDS && !trial.replaced).count();
        let near = self.interval(place).is_some_and(|(low, high)| high <= low * KNOWN);
        let load = course.estimate()? * AT_THE_END.get(here)?;
        (!near && course.failed.is_none()).then_some(load)
    }

    /// Variants that have not run.
    pub(super) fn untested(&self) -> impl Iterator<Item = usize> {
        (0..self.courses.len()).filter(|place| !self.courses[*place].has_begun())
    }

    /// Length of the window of a load in a round, the same for every variant.
    pub(super) fn window_s(&self, per_gpu: f64, round: usize) -> f64 {
        let strictest = self.spec.objectives.iter().filter_map(Objective::most_over);
        let most_over = strictest.fold(0.5, f64::min);
        let needed = REQUESTS / most_over;
        let gpus = self.candidates.iter().map(|candidate| candidate.gpus).min().unwrap_or(1);
        let first = self.runs.window_s.unwrap_or_else(|| {
            (needed / (per_gpu * f64::from(gpus))).clamp(self.runs.shortest_s, self.runs.longest_s).ceil()
        });
        first * libm::exp2((round.min(ROUNDS) - 1) as f64)
    }
}
