//! A tuning as an experiment: every variant runs under the load that the best one meets, and those that surely miss it
//! are dropped.

use std::collections::VecDeque;

use super::axes::TuneCandidate;
use super::file::TuneSpec;
use super::forecast::TuneForecast;
use super::history::{ROUNDS, TuneTrial};
use super::outlook::{Forecaster, Outlook};
use super::result::Tune;
use super::state::{TuneRuns, TuneState, TuneStopped};
use crate::analysis::Summary;
use crate::experiment::driver::{Experiment, FailedBy, RunFailure, RunOutcome, RunRequest, RunsLeft};
use crate::experiment::seeds::seed_of_run;
use crate::experiment::spoiled::InvalidRuns;
use crate::experiment::sweep::{Load, Trial, TrialRequest};

/// Share of its prediction at which a variant begins without anything to compare with.
const CAUTION: f64 = 0.8;
/// Fewer requests of a window tell nothing.
const LEAST_REQUESTS: f64 = 40.0;
/// Runs whose length the user gives.
const LEAST_OF_TYPED: f64 = 10.0;

/// One run of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneRun {
    /// Place of the variant.
    pub candidate: usize,
    /// Its round, from 1.
    pub round: usize,
    /// Requests per second for each accelerator.
    pub per_gpu: f64,
    /// The load, its length and its seed.
    pub wanted: TrialRequest,
}

/// A tuning under way.
pub struct TuneExperiment<'f> {
    state: TuneState,
    forecaster: Box<dyn Forecaster + 'f>,
    outlook: Outlook,
    /// Variant whose runs the outlook is from.
    looked_from: Option<usize>,
    /// Number of the round, from 1. After the last one only the winner runs.
    round: usize,
    /// Variants that are yet to run in this round, from the second round on.
    queue: VecDeque<usize>,
    current: Option<usize>,
    /// The variant whose server was started last.
    started: Option<usize>,
}

impl std::fmt::Debug for TuneExperiment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TuneExperiment").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<'f> TuneExperiment<'f> {
    /// The tuning that `spec` asks for, of which no run is there yet.
    pub fn new(spec: TuneSpec, runs: TuneRuns, invalid: InvalidRuns, forecaster: Box<dyn Forecaster + 'f>) -> Self {
        let mut new = Self {
            state: TuneState::new(spec, runs, invalid),
            forecaster,
            outlook: Outlook::default(),
            looked_from: None,
            round: 1,
            queue: VecDeque::new(),
            current: None,
            started: None,
        };
        new.advance();
        new
    }

    /// The variants.
    pub fn candidates(&self) -> &[TuneCandidate] {
        &self.state.candidates
    }

    /// The most runs that it takes.
    pub fn most_runs(&self) -> u64 {
        self.state.most_runs()
    }

    /// Length of the window of the first run, seconds.
    pub fn first_window_s(&self) -> f64 {
        self.state.window_s(self.state.runs.first_per_gpu, 1)
    }

    /// Returns what is to come. It includes the next run, as far as can be said now.
    pub fn forecast(&self) -> TuneForecast {
        let is_begun = self.current.is_some_and(|current| self.started == Some(current));
        self.state.forecast(self.round, self.queue.len(), is_begun)
    }

    /// The last run that was recorded.
    pub fn last(&self) -> Option<&TuneTrial> {
        let last = self.state.courses.iter().filter_map(|course| course.trials.last());
        last.max_by_key(|trial| trial.number)
    }

    /// Returns the best variant so far, and its highest load per accelerator. The load is one that it met, in the last
    /// round that it ran in.
    pub fn best(&self) -> Option<(&TuneCandidate, f64)> {
        let (best, met) = self.state.best_met()?;
        Some((&self.state.candidates[best], met))
    }

    /// Whether the rounds are over, and only the winner runs.
    const fn is_last(&self) -> bool {
        self.round > ROUNDS
    }

    /// The next load of the variant whose turn it is.
    fn load_of(&self, place: usize) -> Option<f64> {
        let (state, course) = (&self.state, &self.state.courses[place]);
        if self.is_last() {
            return state.last_run(place).map(|(per_gpu, _)| per_gpu);
        }
        let hint = state.forecasts[place].map(|forecast| forecast.per_gpu);
        let missed = state.courses.iter().filter_map(|course| course.missed(1)).min_by(f64::total_cmp);
        let first = match self.round {
            1 => hint.map(|hint| hint * CAUTION).or(missed.map(|missed| missed / 2.0)),
            // What the best of the round before met.
            _ => (1..self.round)
                .rev()
                .find_map(|round| state.courses.iter().filter_map(|course| course.met(round)).max_by(f64::total_cmp)),
        };
        let first = first.unwrap_or(state.runs.first_per_gpu);
        let next = course.next_load(self.round, state.bar(place, self.round), first, hint)?;
        // A lower load of which the longest run has too few requests tells nothing.
        let requests = next * f64::from(state.candidates[place].gpus) * state.window_s(next, self.round);
        let falls = course.trials.last().is_some_and(|last| next < last.per_gpu);
        let least = if state.runs.window_s.is_some() { LEAST_OF_TYPED } else { LEAST_REQUESTS };
        (requests >= least || !falls).then_some(next)
    }

    /// Goes on to the next variant, and the next round. It goes on until a run is wanted or all is over.
    fn advance(&mut self) {
        while self.state.ending.is_none() {
            if self.state.trials() >= self.most_runs() {
                self.state.ending = Some(TuneStopped::OutOfRuns);
                break;
            }
            if let Some(current) = self.current {
                if self.load_of(current).is_some() {
                    return;
                }
                self.settled(current);
            }
            self.current = self.next_variant();
            let Some(next) = self.current else {
                self.next_round();
                continue;
            };
            let is_first = self.state.best().is_none() && !self.state.courses[next].has_begun();
            self.state.courses[next].is_pioneer |= is_first;
            if self.started != Some(next) && self.load_of(next).is_some() {
                (self.started, self.state.starts) = (Some(next), self.state.starts + 1);
            }
        }
        self.current = None;
    }

    /// Takes in that a variant needs no more runs in this round. It then looks ahead from the best one.
    fn settled(&mut self, place: usize) {
        let state = &mut self.state;
        let is_best = state.best() == Some(place);
        let named = state.named.last_mut();
        if let Some(named) = named.filter(|named| named.variant == state.candidates[place].name) {
            named.helped.get_or_insert(is_best);
        }
        let untested: Vec<usize> = state.untested().collect();
        if self.round > 1 || !is_best || self.looked_from == Some(place) || untested.is_empty() {
            return;
        }
        let runs: Vec<String> = state.courses[place].trials.iter().map(|trial| trial.run.clone()).collect();
        self.outlook = self.forecaster.look(place, &runs, &untested);
        self.looked_from = Some(place);
        for (of, forecast) in &self.outlook.forecasts {
            state.forecasts[*of] = Some(*forecast);
        }
        // What an earlier look predicted is predicted.
        let without = untested.iter().filter(|of| state.forecasts[**of].is_none()).count();
        let none = state.forecasts.iter().all(Option::is_none);
        state.note = self.outlook.unpredicted.as_ref().filter(|_| without > 0).map(|why| {
            if none {
                format!("nothing is predicted: {why}")
            } else {
                format!("{without} of {} variants are not predicted: {why}", untested.len())
            }
        });
    }

    fn next_variant(&mut self) -> Option<usize> {
        if self.round > 1 {
            let best = self.state.best();
            let beaten = |place: &usize| Some(*place) != best && self.state.beaten_by(*place).is_some();
            while self.queue.front().is_some_and(beaten) {
                self.queue.pop_front();
            }
            return self.queue.pop_front();
        }
        let named = self.outlook.held_back.take().zip(self.looked_from);
        let named = named.and_then(|((because, levers), from)| self.state.name_axis(from, because, levers));
        named.or_else(|| self.state.most_promising(self.state.untested()))
    }

    fn next_round(&mut self) {
        let survivors = self.state.survivors();
        let Some(best) = self.state.best().filter(|_| !self.is_last()) else {
            self.state.ending = Some(TuneStopped::Finished);
            return;
        };
        let others: Vec<usize> = survivors.into_iter().filter(|place| *place != best).collect();
        self.round = if others.is_empty() { ROUNDS + 1 } else { self.round + 1 };
        let others = others.into_iter().filter(|_| self.round <= ROUNDS);
        self.queue = std::iter::once(best).chain(others).collect();
    }
}

impl Experiment for TuneExperiment<'_> {
    type Part = TuneRun;
    type Result = Tune;

    fn next(&self) -> Option<RunRequest<TuneRun>> {
        let candidate = self.current?;
        let per_gpu = self.load_of(candidate)?;
        let (round, of) = (self.round, &self.state.candidates[candidate]);
        let repeat = self.state.courses[candidate].trials.len() as u64 + 1;
        let name = format!("{}/run-{repeat}", of.name);
        let number = self.state.trials() + 1;
        let last = if self.is_last() { self.state.last_run(candidate) } else { None };
        let wanted = TrialRequest {
            number,
            load: Load::Rate(per_gpu * f64::from(of.gpus)),
            repeat,
            seed: last.map_or(seed_of_run(self.state.runs.seed, round as u64), |(_, seed)| seed),
            window_s: self.state.window_s(per_gpu, round),
            run: name.clone(),
        };
        Some(RunRequest::alone(name, number, TuneRun { candidate, round, per_gpu, wanted }))
    }

    fn record(&mut self, request: &RunRequest<TuneRun>, outcome: RunOutcome) {
        let TuneRun { candidate, round, per_gpu, wanted } = &request.part;
        let invalid = self.state.invalid;
        let course = &mut self.state.courses[*candidate];
        let failed = |why, by| Some(RunFailure { why, by });
        match outcome {
            RunOutcome::Completed(run) => {
                if let Some(why) = Trial::server_gone(&run.summary) {
                    course.failed = failed(why, FailedBy::Server);
                } else {
                    course.take(TuneTrial::new(wanted, (*round, *per_gpu), &run.summary, invalid));
                }
            }
            RunOutcome::Failed { failure, .. } => course.failed = Some(failure),
            RunOutcome::Refused(why) => {
                course.failed = failed(why, FailedBy::Client);
                self.state.ending = Some(TuneStopped::Refused);
            }
            RunOutcome::Interrupted(_) | RunOutcome::Absent => {
                self.state.ending = Some(TuneStopped::Interrupted);
            }
        }
        self.advance();
    }

    fn result(&self) -> Tune {
        Tune::from_state(&self.state)
    }

    fn remaining(&self) -> RunsLeft {
        RunsLeft::AtMost(if self.current.is_some() { self.forecast().runs } else { 0 })
    }

    fn accepts_stored(&self, _request: &RunRequest<TuneRun>, run: &Summary) -> bool {
        Trial::server_gone(run).is_none()
    }
}
