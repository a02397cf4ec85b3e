//! Drives every experiment: asks which run comes next, has it carried out, and records how it ended.
//!
//! An [`Experiment`] is pure: it says which run comes next and what the runs mean. An [`Executor`] carries runs out:
//! against a server with folders, a lock and pauses, or in virtual time. [`drive`] joins the two. It holds the rules
//! that all experiments share: stored runs are used again, an interrupt ends the experiment before the next new run,
//! the executor rests between two new runs, and runs that this machine keeps spoiling end the experiment.

mod failure;

pub use self::failure::{FailedBy, FailureReach, RunFailure};

use super::diagnosis::Diagnosis;
use super::spoiled::spoiled_here;
use crate::analysis::Summary;

/// Limit on new runs in a row that this machine spoiled. After so many no more runs are started.
const MOST_SPOILED: u64 = 3;

/// An experiment of several runs. It has neither clock nor files: the same outcomes lead to the same next run, whether
/// a run is new, stored by an interrupted experiment, or simulated. So resuming means recording the stored runs again.
pub trait Experiment {
    /// Part of the experiment that a run is. It has what makes the run differ from the others.
    type Part: Clone;
    /// Result of the runs together.
    type Result;

    /// Name of the things that [`drive`] counts in a row where this machine spoils them.
    const SPOILED: &str = "runs";

    /// Returns the run to carry out next, from what was recorded so far. It is `None` once the experiment is over.
    fn next(&self) -> Option<RunRequest<Self::Part>>;

    /// Takes in how the run that `request` asked for ended, which the last [`next`](Self::next) returned.
    fn record(&mut self, request: &RunRequest<Self::Part>, outcome: RunOutcome);

    /// Returns the result of the runs recorded so far.
    fn result(&self) -> Self::Result;

    /// Returns how many runs remain.
    fn remaining(&self) -> RunsLeft;

    /// Whether a stored run stands for the one requested. One that does not is carried out again.
    fn accepts_stored(&self, _request: &RunRequest<Self::Part>, _run: &Summary) -> bool {
        true
    }

    /// Whether one more of what [`drive`] counts is spoiled if the next run is.
    fn stays_spoiled(&self) -> bool {
        true
    }

    /// Names the run that replaces the requested one. There is one where the requested one has just been recorded and
    /// is spoiled.
    fn replacement(&self, _request: &RunRequest<Self::Part>) -> Option<String> {
        None
    }
}

/// Request for a run of an experiment, described for any executor.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRequest<P> {
    /// Its folder inside the experiment's: a name or a relative path.
    pub name: String,
    /// Distinguishes the prompts of runs: runs with different numbers send different texts.
    pub number: u64,
    /// Part of the experiment that the run is.
    pub part: P,
    /// Whether it may be carried out, or only read.
    pub source: RunSource,
    /// Folders of the runs that belong together, this one included, in their order. There is none for a run by itself.
    /// Stored runs of a group are used only if all of them are complete. Otherwise all are set aside before the first
    /// of them starts, so that they follow one another in time.
    pub group: Vec<String>,
}

impl<P> RunRequest<P> {
    /// A run by itself, which is carried out where it is not stored.
    pub(super) const fn alone(name: String, number: u64, part: P) -> Self {
        Self { name, number, part, source: RunSource::StoredOrNew, group: Vec::new() }
    }
}

/// Source that a run may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSource {
    /// Run that is read where it is stored, and carried out otherwise.
    StoredOrNew,
    /// Run that is read where it is stored, and [absent](RunOutcome::Absent) otherwise.
    StoredOnly,
}

/// End of a requested run.
#[derive(Clone, Debug)]
pub enum RunOutcome {
    /// Run that reached its end, now or before.
    Completed(CompletedRun),
    /// Run that something kept from its end.
    Failed {
        /// Cause of the failure, and whether the server or this side is to blame.
        failure: RunFailure,
        /// Reach of the failure: what else cannot run for the same reason.
        reach: FailureReach,
    },
    /// Run that was not started, for the reason given. This machine cannot be trusted with it.
    Refused(String),
    /// Interruption by the user, who stopped the run or asked that no more runs start. A run that was stopped half-way
    /// is in it.
    Interrupted(Option<CompletedRun>),
    /// Lack of a stored run, where only a stored one was requested.
    Absent,
}

/// Findings of a run.
#[derive(Clone, Debug)]
pub struct CompletedRun {
    /// Its summary.
    pub summary: Box<Summary>,
    /// Its diagnosis, where the experiment shows one.
    pub diagnosis: Option<Box<Diagnosis>>,
}

impl From<Summary> for CompletedRun {
    fn from(summary: Summary) -> Self {
        Self { summary: Box::new(summary), diagnosis: None }
    }
}

/// Number of runs that an experiment has yet to carry out or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsLeft {
    /// Number of runs that are left if none fails.
    Exactly(u64),
    /// Most runs that are left: what the runs find decides.
    AtMost(u64),
}

/// Executor of the runs of an experiment.
pub trait Executor<E: Experiment> {
    /// Error that ends the whole experiment, such as a full disk.
    type Error;

    /// The requested run, if it is stored and complete.
    ///
    /// # Errors
    ///
    /// When what is stored cannot be read, or is of another plan.
    fn stored(&mut self, _request: &RunRequest<E::Part>) -> Result<Option<CompletedRun>, Self::Error> {
        Ok(None)
    }

    /// Takes in that a stored run counts, and is not carried out anew.
    fn counts_stored(&mut self) {}

    /// Whether the user asked that no more runs start.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether runs go on however many are spoiled.
    fn is_forced(&self) -> bool {
        false
    }

    /// Takes in that no more runs start, for this reason.
    fn ends(&mut self, _why: &str) {}

    /// Returns why this machine cannot be trusted with the requested run, if it cannot.
    ///
    /// # Errors
    ///
    /// When the run cannot be planned.
    fn refuses(&mut self, _request: &RunRequest<E::Part>) -> Result<Option<String>, Self::Error> {
        Ok(None)
    }

    /// Pauses between a run that has just been carried out and the next.
    fn rest(&mut self, _after: &RunRequest<E::Part>) {}

    /// Carries the requested run out. `experiment` has what is known so far.
    ///
    /// # Errors
    ///
    /// When the experiment cannot go on.
    fn run(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, Self::Error>;

    /// Stores and shows what `experiment` knows now that a run was recorded.
    ///
    /// # Errors
    ///
    /// When that cannot be stored.
    fn recorded(&mut self, _request: &RunRequest<E::Part>, _experiment: &E) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Carries out the runs of `experiment` until it wants no more. [`Experiment::result`] then says what they mean.
///
/// # Errors
///
/// When `executor` cannot go on. What was recorded before stays in `experiment`.
pub fn drive<E: Experiment, X: Executor<E>>(experiment: &mut E, executor: &mut X) -> Result<(), X::Error> {
    let mut progress = Progress { executor, last: None, spoiled_in_a_row: 0, too_many: None };
    while let Some(request) = experiment.next() {
        let outcome = progress.outcome(&request, experiment)?;
        experiment.record(&request, outcome);
        progress.executor.recorded(&request, experiment)?;
    }
    Ok(())
}

/// Memory of [`drive`] from run to run.
struct Progress<'x, E: Experiment, X> {
    executor: &'x mut X,
    /// The last run that was carried out now.
    last: Option<RunRequest<E::Part>>,
    /// Number of [runs or other things](Experiment::SPOILED) that this machine spoiled now, one after another.
    spoiled_in_a_row: u64,
    /// Objection to the last of them, once they are too many.
    too_many: Option<String>,
}

impl<E: Experiment, X: Executor<E>> Progress<'_, E, X> {
    fn outcome(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, X::Error> {
        let stored = self.executor.stored(request)?;
        Ok(match stored.filter(|run| experiment.accepts_stored(request, &run.summary)) {
            Some(run) => {
                self.executor.counts_stored();
                RunOutcome::Completed(run)
            }
            None if request.source == RunSource::StoredOnly => RunOutcome::Absent,
            None => self.carry_out(request, experiment)?,
        })
    }

    fn carry_out(&mut self, request: &RunRequest<E::Part>, experiment: &E) -> Result<RunOutcome, X::Error> {
        if self.executor.is_interrupted() {
            return Ok(RunOutcome::Interrupted(None));
        }
        let counts_spoiled = !self.executor.is_forced();
        if let Some(reason) = self.too_many.as_ref().filter(|_| counts_spoiled) {
            return Ok(RunOutcome::Refused(reason.clone()));
        }
        if let Some(reason) = self.executor.refuses(request)? {
            return Ok(RunOutcome::Refused(reason));
        }
        if let Some(last) = self.last.take() {
            self.executor.rest(&last);
            if self.executor.is_interrupted() {
                return Ok(RunOutcome::Interrupted(None));
            }
        }
        let outcome = self.executor.run(request, experiment)?;
        self.last = Some(request.clone());
        if let (RunOutcome::Completed(run), true) = (&outcome, counts_spoiled) {
            self.count_spoiled(&run.summary, experiment);
        }
        Ok(outcome)
    }

    fn count_spoiled(&mut self, run: &Summary, experiment: &E) {
        let Some(why) = spoiled_here(run) else {
            self.spoiled_in_a_row = 0;
            return;
        };
        self.spoiled_in_a_row += u64::from(experiment.stays_spoiled());
        if self.spoiled_in_a_row == MOST_SPOILED && self.too_many.is_none() {
            let too_many = format!("{MOST_SPOILED} {} in a row were spoiled: {why}", E::SPOILED);
            self.executor.ends(&too_many);
            self.too_many = Some(too_many);
        }
    }
}

#[cfg(test)]
mod tests;
