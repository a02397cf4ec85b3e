//! The handle by which async handlers reach the engine thread.

use std::io;
use std::sync::mpsc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::engine_loop::{Command, EngineLoop, JobRequest, Readings, Submission, TokensDue};
use crate::clock::{RunClock, Timestamp};
use crate::simulator::{JobId, Reject, SimulatedServer};

/// A handle of the engine thread, which ends when the last one is dropped.
#[derive(Clone, Debug)]
pub(crate) struct EngineThread {
    commands: mpsc::Sender<Command>,
}

/// The running jobs of one request. Dropping it cancels those that are not done.
#[derive(Debug)]
pub(crate) struct RunningJobs {
    engine: EngineThread,
    jobs: Vec<Option<JobId>>,
    tokens: UnboundedReceiver<TokensDue>,
}

/// Why a request was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubmitError {
    /// It can never be served.
    #[error(transparent)]
    Never(#[from] Reject),
    /// The engine thread has stopped, which only a bug in the model can cause.
    #[error("the simulated engine has stopped; restart the mock and report its output")]
    Stopped,
}

impl EngineThread {
    /// Starts the thread.
    pub(crate) fn start(server: Box<dyn SimulatedServer + Send>, clock: RunClock) -> io::Result<Self> {
        let (commands, orders) = mpsc::channel();
        let beating = EngineLoop::new(server, clock, orders);
        std::thread::Builder::new().name("mock engine".to_owned()).spawn(move || beating.run())?;
        Ok(Self { commands })
    }

    /// Submits the choices of a request, `n` per prompt, all or none; returns when they were queued.
    pub(crate) async fn take(
        &self,
        wanted: Vec<JobRequest>,
        n: u32,
    ) -> Result<(RunningJobs, Timestamp), SubmitError> {
        let jobs = wanted.iter().map(|wanted| Some(wanted.job.id)).collect();
        let (sender, tokens) = unbounded_channel();
        let (taken, answer) = oneshot::channel();
        self.send(Command::Arrive(Submission { wanted, n, tokens: sender, taken }));
        let work = RunningJobs { engine: self.clone(), jobs, tokens };
        let queued = answer.await.map_err(|_| SubmitError::Stopped)??;
        Ok((work, queued))
    }

    /// The gauges and counters of the server; `None` when the thread has stopped.
    pub(crate) async fn look(&self) -> Option<Readings> {
        let (answer, readings) = oneshot::channel();
        self.send(Command::Look(answer));
        readings.await.ok()
    }

    /// Forgets all cached prefixes that no job is using.
    pub(crate) async fn forget_prefixes(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Command::ForgetPrefixes(done));
        let _ = waiting.await;
    }

    fn send(&self, command: Command) {
        // A caller that waits for an answer sees by its absence that the thread has stopped.
        let _ = self.commands.send(command);
    }
}

impl RunningJobs {
    /// The next tokens; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<TokensDue> {
        if self.jobs.iter().all(Option::is_none) {
            return None;
        }
        let due = self.tokens.recv().await?;
        if due.finished
            && let Some(job) = self.jobs.get_mut(due.choice)
        {
            *job = None;
        }
        Some(due)
    }
}

impl Drop for RunningJobs {
    fn drop(&mut self) {
        let undone: Vec<JobId> = self.jobs.iter().copied().flatten().collect();
        if !undone.is_empty() {
            self.engine.send(Command::Cancel(undone));
        }
    }
}
