//! The executor of runs in virtual time.

use crate::experiment::driver::{CompletedRun, Executor, Experiment, RunOutcome, RunRequest};

/// Carries out each requested run by a function, such as one in virtual time. It reads no stored run and never pauses.
#[derive(Debug)]
pub struct VirtualExecutor<F, G> {
    /// Carries a run out.
    pub run: F,
    /// Stores what the experiment knows once a run was recorded.
    pub recorded: G,
}

impl<E: Experiment, X, F, G> Executor<E> for VirtualExecutor<F, G>
where
    F: FnMut(&RunRequest<E::Part>) -> Result<CompletedRun, X>,
    G: FnMut(&E) -> Result<(), X>,
{
    type Error = X;

    fn is_forced(&self) -> bool {
        // No machine can spoil a run in virtual time.
        true
    }

    fn run(&mut self, request: &RunRequest<E::Part>, _experiment: &E) -> Result<RunOutcome, X> {
        (self.run)(request).map(RunOutcome::Completed)
    }

    fn recorded(&mut self, _request: &RunRequest<E::Part>, experiment: &E) -> Result<(), X> {
        (self.recorded)(experiment)
    }
}
