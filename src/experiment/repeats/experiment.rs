//! Repeats as an experiment: a planned number of runs, one after another, with seeds of their own, and a few spare ones
//! for those that are spoiled.

use super::summary::{NotRepeats, Repeats};
use crate::analysis::{Objective, Summary};
use crate::experiment::diagnosis::Diagnosis;
use crate::experiment::driver::{CompletedRun, Experiment, RunOutcome, RunRequest, RunsLeft};
use crate::experiment::spoiled::{InvalidRuns, spoiled_by};

/// Several runs of one workload, judged together against objectives.
#[derive(Clone, Debug, Default)]
pub struct RepeatsExperiment {
    runs: u64,
    objectives: Vec<Objective>,
    invalid: InvalidRuns,
    summaries: Vec<Summary>,
    diagnoses: Vec<Diagnosis>,
    interrupted: bool,
    /// Reason why no more runs start, once that is so. This machine cannot be trusted with them, or a breaker ended
    /// one.
    refused: Option<String>,
}

/// Run of several that differ in their seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatRun {
    /// The number, from 1.
    pub number: u64,
    /// Number of planned runs: a spare one has a number after the last of them.
    pub of: u64,
}

impl RepeatsExperiment {
    /// `runs` runs, of which none is there yet.
    pub fn new(runs: u64, objectives: Vec<Objective>, invalid: InvalidRuns) -> Self {
        Self { runs, objectives, invalid, ..Self::default() }
    }

    /// Name of the folder of run number `number`.
    pub fn folder(number: u64) -> String {
        format!("run-{number}")
    }

    /// Whether it ended before its last run.
    pub const fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Whether a circuit breaker ended a run, and the repeats with it.
    pub fn is_aborted(&self) -> bool {
        self.summaries.iter().any(|run| run.breaker.is_some())
    }

    fn add(&mut self, run: CompletedRun) {
        if let Some(aborted) = run.summary.aborted() {
            self.refused = Some(aborted);
        }
        self.summaries.push(*run.summary);
        self.diagnoses.extend(run.diagnosis.map(|diagnosis| *diagnosis));
    }

    /// Returns how many runs are spoiled.
    fn spoiled(&self) -> u64 {
        self.summaries.iter().filter(|run| spoiled_by(run).is_some()).count() as u64
    }

    fn left(&self) -> u64 {
        let is_over = self.interrupted || self.refused.is_some();
        let last = if is_over { 0 } else { self.invalid.last_run(self.runs, self.spoiled()) };
        last.saturating_sub(self.summaries.len() as u64)
    }
}

impl Experiment for RepeatsExperiment {
    type Part = RepeatRun;
    type Result = Result<Repeats, NotRepeats>;

    fn next(&self) -> Option<RunRequest<RepeatRun>> {
        if self.left() == 0 {
            return None;
        }
        let number = self.summaries.len() as u64 + 1;
        Some(RunRequest::alone(Self::folder(number), number, RepeatRun { number, of: self.runs }))
    }

    fn record(&mut self, _request: &RunRequest<RepeatRun>, outcome: RunOutcome) {
        match outcome {
            RunOutcome::Completed(run) => self.add(run),
            RunOutcome::Interrupted(run) => {
                self.interrupted = true;
                if let Some(run) = run {
                    self.add(run);
                }
            }
            RunOutcome::Refused(why) => self.refused = Some(why),
            RunOutcome::Failed { .. } | RunOutcome::Absent => self.interrupted = true,
        }
    }

    fn result(&self) -> Self::Result {
        let mut repeats = Repeats::new(&self.summaries, &self.objectives)?;
        let refused = self.refused.as_ref().map(|why| format!("no more runs started: {why}"));
        let said: Vec<_> = repeats.spoiled.take().into_iter().chain(refused).collect();
        repeats.spoiled = (!said.is_empty()).then(|| said.join("; "));
        let diagnosed = self.diagnoses.len() == self.summaries.len();
        Ok(if diagnosed { repeats.diagnosed(&self.summaries, &self.diagnoses) } else { repeats })
    }

    fn remaining(&self) -> RunsLeft {
        RunsLeft::Exactly(self.left())
    }

    fn replacement(&self, request: &RunRequest<RepeatRun>) -> Option<String> {
        let RepeatRun { number, of } = request.part;
        let why = self.summaries.get(number as usize - 1).and_then(spoiled_by)?;
        self.invalid.replacement(number, of, self.spoiled(), why, Self::folder)
    }
}
