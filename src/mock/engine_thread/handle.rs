//! Speaks to the heart from async handlers.

use std::io;
use std::sync::mpsc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::command::{Arrival, Command, Due, Readings, Wanted};
use super::engine_loop::Beating;
use crate::clock::{RunClock, Timestamp};
use crate::simulator::{JobId, Reject, SimulatedServer};

/// A way to speak to the heart; it stops beating when the last one is dropped.
#[derive(Clone, Debug)]
pub(in crate::mock) struct Heart {
    commands: mpsc::Sender<Command>,
}

/// Jobs that the heart is working on for one request. Dropping it cancels those that are not done.
#[derive(Debug)]
pub(in crate::mock) struct InWork {
    heart: Heart,
    jobs: Vec<Option<JobId>>,
    tokens: UnboundedReceiver<Due>,
}

/// Why a request was not taken into work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::mock) enum NotTaken {
    /// It can never be served.
    #[error(transparent)]
    Never(#[from] Reject),
    /// The heart has stopped, which only a fault in the model can bring about.
    #[error("the simulated engine has stopped; restart the mock, and report what it printed")]
    Stopped,
}

impl Heart {
    /// Starts to beat on a thread of its own.
    pub(in crate::mock) fn start(
        server: Box<dyn SimulatedServer + Send>,
        clock: RunClock,
    ) -> io::Result<Self> {
        let (commands, orders) = mpsc::channel();
        let beating = Beating::new(server, clock, orders);
        std::thread::Builder::new().name("mock heart".to_owned()).spawn(move || beating.run())?;
        Ok(Self { commands })
    }

    /// Takes a request's answers into work, `n` to each prompt, all or none, and tells when.
    pub(in crate::mock) async fn take(
        &self,
        wanted: Vec<Wanted>,
        n: u32,
    ) -> Result<(InWork, Timestamp), NotTaken> {
        let jobs = wanted.iter().map(|wanted| Some(wanted.job.id)).collect();
        let (sender, tokens) = unbounded_channel();
        let (taken, answer) = oneshot::channel();
        self.send(Command::Arrive(Arrival { wanted, n, tokens: sender, taken }));
        let work = InWork { heart: self.clone(), jobs, tokens };
        let queued = answer.await.map_err(|_| NotTaken::Stopped)??;
        Ok((work, queued))
    }

    /// What its server has done; `None` when it has stopped.
    pub(in crate::mock) async fn look(&self) -> Option<Readings> {
        let (answer, readings) = oneshot::channel();
        self.send(Command::Look(answer));
        readings.await.ok()
    }

    /// Forgets all cached prefixes that no job is using.
    pub(in crate::mock) async fn forget_prefixes(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Command::ForgetPrefixes(done));
        let _ = waiting.await;
    }

    fn send(&self, command: Command) {
        // Whoever waits for an answer learns by its absence that the heart has stopped.
        let _ = self.commands.send(command);
    }
}

impl InWork {
    /// The next tokens; `None` after the last.
    pub(in crate::mock) async fn next(&mut self) -> Option<Due> {
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

impl Drop for InWork {
    fn drop(&mut self) {
        let undone: Vec<JobId> = self.jobs.iter().copied().flatten().collect();
        if !undone.is_empty() {
            self.heart.send(Command::Cancel(undone));
        }
    }
}
