//! A sweep as an experiment: the runs that the search asks for, and the answer held for longer.

use super::answer::{HighestLoad, StopReason, Sustained};
use super::search::{Search, SearchStep};
use super::trial::{Trial, TrialRequest};
use super::whole::{Sweep, Swept};
use crate::analysis::Summary;
use crate::experiment::driver::{Experiment, FailedBy, RunOutcome, RunRequest, RunsLeft};
use crate::experiment::seeds::seed_of_run;
use crate::experiment::spoiled::InvalidRuns;
use crate::record::Repeat;

/// Folder of the run that holds the answer.
const SUSTAINED: &str = "sustained";

/// A sweep under way.
#[derive(Clone, Debug)]
pub struct SweepExperiment {
    search: Search,
    swept: Swept,
    sustain_s: Option<f64>,
    sustained: Option<Sustained>,
    /// Runs that held the answer and were spoiled, one after the other.
    spoiled_holds: u64,
    /// Cause of the end, where that is not the search.
    ended: Option<End>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepRun {
    /// A run that the search asks for.
    Load(TrialRequest),
    /// The longer run at the highest load that passed.
    Sustained(TrialRequest),
}

/// Cause of a sweep's end, with the reason in words.
#[derive(Clone, Debug)]
struct End {
    stopped: StopReason,
    sentence: Option<String>,
}

impl SweepExperiment {
    /// Returns the runs of `search`. `swept` says what is measured, as far as that is known before the first run.
    pub const fn new(search: Search, swept: Swept) -> Self {
        Self { search, swept, sustain_s: None, sustained: None, spoiled_holds: 0, ended: None }
    }

    /// Returns the sweep with a hold of so many seconds in the end. Held is the highest load that passed.
    #[must_use]
    pub fn holding_for(self, seconds: f64) -> Self {
        Self { sustain_s: Some(seconds), ..self }
    }

    /// The search.
    pub const fn search(&self) -> &Search {
        &self.search
    }

    /// The highest load, as far as it is known.
    pub fn answer(&self) -> Option<HighestLoad> {
        self.search.answer()
    }

    /// The next run of the search, or what ended it.
    fn next_load(&self) -> Result<TrialRequest, End> {
        match (&self.ended, self.search.next()) {
            (Some(end), _) => Err(end.clone()),
            (None, SearchStep::Measure(wanted)) => Ok(wanted),
            (None, SearchStep::Done(stopped)) => Err(End { stopped, sentence: None }),
        }
    }

    /// Returns whether the answer is to be held. It is held for the first time, or again because the run that held it
    /// was spoiled.
    fn is_to_hold(&self) -> bool {
        self.sustained.is_none() || (1..=Repeat::MOST_SPARE).contains(&self.spoiled_holds)
    }

    /// Returns the run that holds the answer. It is `None` unless that is asked for, possible and not there yet.
    fn holding(&self, end: &End) -> Option<TrialRequest> {
        let cut_short = matches!(end.stopped, StopReason::Interrupted | StopReason::ServerGone);
        let window_s = self.sustain_s.filter(|_| !cut_short && self.is_to_hold())?;
        let load = self.answer()?.passed?;
        let repeat = self.spoiled_holds + 1;
        let number = self.search.trials().len() as u64 + repeat;
        let seed = seed_of_run(self.search.plan().first_seed, number);
        Some(TrialRequest { number, load, repeat, seed, window_s, run: holding_run(repeat) })
    }

    /// Result of the sweep's run, or the way in which it ended the sweep.
    fn completed(outcome: RunOutcome) -> Result<Box<Summary>, End> {
        let end = |stopped, sentence| Err(End { stopped, sentence });
        match outcome {
            RunOutcome::Completed(run) => match Trial::server_gone(&run.summary) {
                Some(reason) => end(StopReason::ServerGone, Some(gone(&reason))),
                None => Ok(run.summary),
            },
            RunOutcome::Failed { failure, .. } if failure.by == FailedBy::Server => {
                end(StopReason::ServerGone, Some(gone(&failure.why)))
            }
            RunOutcome::Failed { failure, .. } => end(StopReason::Generator, Some(failure.why)),
            RunOutcome::Refused(reason) => end(StopReason::Generator, Some(reason)),
            RunOutcome::Interrupted(_) | RunOutcome::Absent => end(StopReason::Interrupted, None),
        }
    }

    fn add(&mut self, wanted: &TrialRequest, found: &Summary) {
        if self.search.trials().is_empty() {
            self.swept.started_at = found.run.started_at;
            self.swept.engine = found.run.engine.clone();
        }
        self.search.record(Trial::new(wanted, found));
    }

    fn hold(&mut self, wanted: &TrialRequest, outcome: RunOutcome) {
        match Self::completed(outcome) {
            Ok(found) => {
                let trial = Trial::new(wanted, &found);
                self.spoiled_holds = if trial.spoiled { wanted.repeat } else { 0 };
                self.sustained = Some(Sustained::from_trial(&trial));
            }
            // The search is over all the same: only how its answer holds is not known.
            Err(End { stopped: StopReason::Generator, sentence }) => {
                self.spoiled_holds = 0;
                let reason = format!("it was not run: {}", sentence.unwrap_or_default());
                self.sustained = Some(Sustained::unknown(wanted.load, wanted.window_s, &wanted.run, &reason));
            }
            Err(end) => self.ended = Some(end),
        }
    }
}

/// The name of the run that holds the answer, the first or a spare one.
fn holding_run(repeat: u64) -> String {
    if repeat == 1 { SUSTAINED.to_owned() } else { format!("{SUSTAINED}-{repeat}") }
}

fn gone(reason: &str) -> String {
    format!("the server is gone or stopped answering: {reason}")
}

impl Experiment for SweepExperiment {
    type Part = SweepRun;
    type Result = Sweep;

    fn next(&self) -> Option<RunRequest<SweepRun>> {
        let (wanted, part): (_, fn(TrialRequest) -> SweepRun) = match self.next_load() {
            Ok(wanted) => (wanted, SweepRun::Load),
            Err(end) => (self.holding(&end)?, SweepRun::Sustained),
        };
        Some(RunRequest::alone(wanted.run.clone(), wanted.number, part(wanted)))
    }

    fn record(&mut self, request: &RunRequest<SweepRun>, outcome: RunOutcome) {
        match &request.part {
            SweepRun::Load(wanted) => match Self::completed(outcome) {
                Ok(found) => self.add(wanted, &found),
                Err(end) => self.ended = Some(end),
            },
            SweepRun::Sustained(wanted) => self.hold(wanted, outcome),
        }
    }

    fn result(&self) -> Sweep {
        // Until it is over, it is as if it had been interrupted here.
        let so_far = |_| End { stopped: StopReason::Interrupted, sentence: None };
        let end = self.next_load().map_or_else(|end| end, so_far);
        let mut sweep = Sweep::new(&self.search, self.swept.clone(), end.stopped);
        sweep.sustained.clone_from(&self.sustained);
        if let Some(sentence) = end.sentence {
            sweep.stopped_sentence = sentence;
        }
        sweep
    }

    fn remaining(&self) -> RunsLeft {
        let holding = u64::from(self.sustain_s.is_some() && self.is_to_hold());
        let loads = self.next_load().map_or(0, |_| self.search.runs_left());
        RunsLeft::AtMost(loads + holding)
    }

    fn accepts_stored(&self, request: &RunRequest<SweepRun>, run: &Summary) -> bool {
        // The run after which the search could trust none is tried again.
        let ends_untrusted = |wanted: &TrialRequest| {
            let mut search = self.search.clone();
            search.record(Trial::new(wanted, run));
            search.next() == SearchStep::Done(StopReason::Untrusted)
        };
        let untrusted = matches!(&request.part, SweepRun::Load(wanted) if ends_untrusted(wanted));
        Trial::server_gone(run).is_none() && !untrusted
    }

    fn replacement(&self, request: &RunRequest<SweepRun>) -> Option<String> {
        let why = self.sustained.as_ref().and_then(|sustained| sustained.unknown.as_deref())?;
        let SweepRun::Sustained(wanted) = &request.part else { return None };
        InvalidRuns::LeftOut.replacement(wanted.repeat, 1, self.spoiled_holds, why, holding_run)
    }
}
