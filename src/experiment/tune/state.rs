//! What is known of a tuning: its variants, their runs, which of them is the best and which are dropped.

use serde::{Deserialize, Serialize};

use super::axes::TuneCandidate;
use super::file::TuneSpec;
use super::history::{ROUNDS, TrialHistory, TuneTrial};
use super::outlook::{Forecast, Lever};
use crate::analysis::{Objective, Status};
use crate::experiment::seeds::seed_of_run;
use crate::experiment::spoiled::InvalidRuns;
use crate::experiment::sweep::{LoadAxis, Search, SearchStep, SweepPlan};
use crate::workload::WorkloadSpec;

/// Largest chance that a variant is dropped that is as good as the others. The others are those that it is compared
/// with.
pub(super) const ERROR: f64 = 0.05;
/// Chance that each half of a comparison may be wrong. A variant has one comparison in each round.
const DOUBT: f64 = ERROR / 2.0 / ROUNDS as f64;
/// The most runs: of each variant, and of all beside that.
const MOST_OF_EACH: u64 = 3;
const MOST_BESIDE: u64 = 30;
/// The shortest and the longest window of the first round, seconds.
const SHORTEST_S: f64 = 20.0;
const LONGEST_S: f64 = 300.0;
/// Requests of a run of the first round for each allowed over the bound. The strictest objective allows it.
const REQUESTS: f64 = 10.0;
/// Accuracy to which the winner's load is known at the end. Until then the winner runs: the ends of its interval are
/// apart by this share.
const KNOWN: f64 = 0.2;
/// Most runs of the winner at the end.
pub(super) const MOST_AT_THE_END: u64 = 15;

/// Length of runs, and the load with which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TuneRuns {
    /// Requests per second of the first run, for each accelerator.
    pub first_per_gpu: f64,
    /// Length of the runs of the first round, where that is fixed. Else it follows from the requests that a verdict
    /// needs.
    pub window_s: Option<f64>,
    /// Shortest window of the first round, seconds.
    pub shortest_s: f64,
    /// Longest window of the first round, seconds.
    pub longest_s: f64,
    /// Warm-up of each run, seconds.
    #[serde(skip)]
    pub warmup_s: f64,
    /// The most runs, where that is limited.
    pub most: Option<u64>,
    /// Seed of the runs of the first round.
    pub seed: u64,
}

impl TuneRuns {
    /// Returns the runs of a tuning with this workload. What was typed is first.
    pub fn new(workload: &WorkloadSpec, window_s: Option<f64>, seed: Option<u64>, most: Option<u64>) -> Self {
        Self {
            first_per_gpu: workload.arrival.mean_rate_per_s(),
            window_s,
            shortest_s: SHORTEST_S,
            longest_s: LONGEST_S,
            warmup_s: workload.warmup_s,
            most,
            seed: seed.unwrap_or(workload.seed),
        }
    }
}

/// Reason why a tuning started no more runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TuneStopped {
    /// Tuning that was over.
    Finished,
    /// Tuning that had as many runs as it may have.
    OutOfRuns,
    /// Machine that cannot be trusted with more runs.
    Refused,
    /// Interruption by the user; or the end of what was stored of the tuning.
    Interrupted,
}

/// A flag that the diagnosis named, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NamedAxis {
    /// The flag.
    pub axis: String,
    /// Obstacle that held the best variant back.
    pub because: String,
    /// Its value in that variant.
    pub from: String,
    /// Its value in the variant that ran next, which differs in nothing else.
    pub to: String,
    /// Variant that ran next.
    pub variant: String,
    /// Whether it then was the best; absent before it has run.
    pub helped: Option<bool>,
}

/// Knowledge of a whole tuning.
#[derive(Clone, Debug)]
pub(super) struct TuneState {
    pub(super) spec: TuneSpec,
    pub(super) candidates: Vec<TuneCandidate>,
    pub(super) runs: TuneRuns,
    pub(super) invalid: InvalidRuns,
    pub(super) courses: Vec<TrialHistory>,
    /// Forecast of each variant before it ran.
    pub(super) forecasts: Vec<Option<Forecast>>,
    /// Note on what the forecaster could not say.
    pub(super) note: Option<String>,
    pub(super) named: Vec<NamedAxis>,
    /// Number of starts of a server.
    pub(super) starts: u64,
    pub(super) ending: Option<TuneStopped>,
}

impl TuneState {
    pub(super) fn new(spec: TuneSpec, runs: TuneRuns, invalid: InvalidRuns) -> Self {
        let candidates = spec.candidates();
        Self {
            courses: vec![TrialHistory::default(); candidates.len()],
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

    /// Returns the variant that meets the highest load in `round`. Of several it is the one that ran first.
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

    /// Returns the best variant so far, and the load that it met. The variant is that of the last round in which one
    /// met a load.
    pub(super) fn best_met(&self) -> Option<(usize, f64)> {
        (1..=ROUNDS).rev().find_map(|round| {
            let best = self.best_of(round)?;
            Some((best, self.courses[best].met(round)?))
        })
    }

    /// The best variant so far.
    pub(super) fn best(&self) -> Option<usize> {
        self.best_met().map(|(best, _)| best)
    }

    /// The load that the best variant of `round` meets, for another one.
    pub(super) fn bar(&self, place: usize, round: usize) -> Option<f64> {
        let best = self.best_of(round).filter(|best| *best != place)?;
        self.courses[best].met(round)
    }

    /// Returns the variant that surely does better than this one. With it come this one's run, and the run of that one.
    pub(super) fn beaten_by(&self, place: usize) -> Option<(usize, &TuneTrial, &TuneTrial)> {
        self.courses[place].trials.iter().rev().find_map(|own| {
            let others = (0..self.courses.len()).filter(|other| *other != place);
            let mut pairs = others.flat_map(|other| self.courses[other].trials.iter().map(move |t| (other, t)));
            let (other, theirs) = pairs.find(|(_, theirs)| own.is_surely_worse(theirs, DOUBT))?;
            Some((other, own, theirs))
        })
    }

    /// Returns the best variant where it met at least a load that this one missed. Both runs come with it, and are of
    /// the same round.
    pub(super) fn behind(&self, place: usize) -> Option<(usize, &TuneTrial, &TuneTrial)> {
        let (best, round) = (self.best().filter(|best| *best != place)?, self.courses[place].last_round());
        let met = self.courses[best].met(round)?;
        let mut missed = self.courses[place].of_round(round).filter(|own| own.side == Status::Missed);
        let own = missed.find(|own| own.per_gpu <= met)?;
        let mut theirs = self.courses[best].of_round(round).filter(|of| of.side == Status::Met);
        Some((best, own, theirs.find(|theirs| theirs.per_gpu >= own.per_gpu)?))
    }

    /// Variants that may yet be the best.
    pub(super) fn survivors(&self) -> Vec<usize> {
        let runs = |place: &usize| self.courses[*place].failed.is_none() && self.courses[*place].has_begun();
        (0..self.candidates.len()).filter(runs).filter(|place| self.beaten_by(*place).is_none()).collect()
    }

    /// Returns the runs of a variant at the end, as a sweep. It begins where the rounds before saw its limit. Their
    /// seeds are their own, and no variant is chosen by them, so that their interval is honest.
    pub(super) fn search(&self, place: usize) -> Option<Search> {
        let course = &self.courses[place];
        let plan = SweepPlan {
            axis: LoadAxis::search_from(course.estimate()? * f64::from(self.candidates[place].gpus)),
            objectives: self.spec.objectives.clone(),
            repeats: 1,
            samples: 1,
            longest_s: self.runs.longest_s,
            precision: KNOWN,
            most_trials: MOST_AT_THE_END,
            saturated_in_a_row: u64::MAX,
            first_seed: seed_of_run(self.runs.seed, ROUNDS as u64 + 1),
            ..SweepPlan::default()
        };
        let mut search = Search::near(plan).ok()?.forced(self.invalid == InvalidRuns::Counted);
        let last = course.trials.iter().filter(|trial| trial.round > ROUNDS);
        last.filter_map(|trial| trial.trial.as_deref()).for_each(|trial| search.record(trial.clone()));
        Some(search)
    }

    /// Returns the load per accelerator at which the winner ends to meet the objectives. It is by the runs of the
    /// rounds where those at the end show no limit.
    pub(super) fn limit(&self, place: usize) -> Option<f64> {
        let crossing = self.search(place).and_then(|search| search.crossing());
        crossing.map(|load| load / f64::from(self.candidates[place].gpus)).or(self.courses[place].estimate())
    }

    /// Its 95 % interval, or why it has none.
    pub(super) fn interval(&self, place: usize) -> Result<(f64, f64), String> {
        let gpus = f64::from(self.candidates[place].gpus);
        let search = self.search(place).ok_or("no load is met")?;
        search.interval().map(|(low, high)| (low / gpus, high / gpus))
    }

    /// Returns the next run of the winner at the end. It is its load for each accelerator and its seed. It is `None`
    /// where enough is known.
    pub(super) fn last_run(&self, place: usize) -> Option<(f64, u64)> {
        let search = self.search(place).filter(|_| self.courses[place].failed.is_none())?;
        let SearchStep::Measure(wanted) = search.next() else { return None };
        Some((wanted.load.amount() / f64::from(self.candidates[place].gpus), wanted.seed))
    }

    /// Variants that have not run.
    pub(super) fn untested(&self) -> impl Iterator<Item = usize> {
        (0..self.courses.len()).filter(|place| !self.courses[*place].has_begun())
    }

    /// Returns the variant that is expected to do best. Where that is not known, it is the first in the file.
    pub(super) fn most_promising(&self, of: impl Iterator<Item = usize>) -> Option<usize> {
        let expected = |place: usize| self.forecasts[place].map_or(0.0, |forecast| forecast.per_gpu);
        of.max_by(|one, other| expected(*one).total_cmp(&expected(*other)).then_with(|| other.cmp(one)))
    }

    /// Returns the variant that changes the flag that the diagnosis names, and nothing else. None is returned where
    /// that has been tried. The diagnosis is of the variant `from`.
    pub(super) fn name_axis(&mut self, from: usize, because: &str, levers: &[Lever]) -> Option<usize> {
        let (axes, best) = (&self.spec.axes, &self.candidates[from]);
        let of = |lever: &Lever| axes.iter().position(|axis| Lever::from_option(&axis.name) == Some(*lever));
        let named = levers.iter().find_map(of)?;
        let alone = |place: &usize| self.candidates[*place].differs_in(best) == Some(named);
        let place = self.most_promising(self.untested().filter(alone))?;
        let to = &self.candidates[place];
        let value = |of: &TuneCandidate| axes[named].values[of.places[named]].name.clone();
        let named = NamedAxis {
            axis: axes[named].name.clone(),
            because: because.to_owned(),
            from: value(best),
            to: value(to),
            variant: to.name.clone(),
            helped: None,
        };
        self.named.push(named);
        Some(place)
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
