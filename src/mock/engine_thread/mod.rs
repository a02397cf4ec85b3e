//! The engine thread: it runs a simulated server in real time for the handlers.
//!
//! ```text
//! handlers ── submissions, cancellations ──▶ EngineLoop: sleep to the next event, advance ── tokens ──▶ streams
//! ```
//!
//! Deadlines are absolute. A delayed thread sends at once what is due, each token with its due time, and
//! nothing after it is delayed.

mod jobs;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

pub(crate) use self::jobs::{JobRequest, SubmitError, TokensDue};
use self::jobs::{LARGEST_JOBS, MOST_OF_ANSWER, MOST_UNREAD};
use crate::clock::{Pacing, RunClock, SharpWait, Timestamp, WaitStep, start_thread};
use crate::mock::metrics::{Finish, JobTimes, Meters, Readings};
use crate::simulator::{JobId, SimulatedServer, TokenEvent};

enum Command {
    Arrive(Submission),
    Cancel(Vec<JobId>),
    Look(oneshot::Sender<Readings>),
    ForgetPrefixes(oneshot::Sender<()>),
}

/// The choices of one request; all of them are accepted, or none.
struct Submission {
    wanted: Vec<JobRequest>,
    /// Choices per prompt.
    n: u32,
    tokens: UnboundedSender<TokensDue>,
    unread: Unread,
    taken: oneshot::Sender<Result<Timestamp, SubmitError>>,
}

/// A handle of the engine thread, which ends when the last one is dropped.
#[derive(Clone, Debug)]
pub(crate) struct EngineThread {
    commands: mpsc::Sender<Command>,
    unread: Unread,
}

/// Times at which tokens were due that a client has not yet taken.
type Unread = Arc<AtomicUsize>;

/// The running jobs of one request. Dropping it cancels those that are not done.
#[derive(Debug)]
pub(crate) struct RunningJobs {
    engine: EngineThread,
    jobs: Vec<Option<JobId>>,
    tokens: UnboundedReceiver<TokensDue>,
    unread: Unread,
}

impl EngineThread {
    /// Starts the thread.
    pub(crate) fn start(server: Box<dyn SimulatedServer + Send>, clock: RunClock, pacing: Pacing) -> io::Result<Self> {
        let (commands, orders) = mpsc::channel();
        let unread = Unread::default();
        let (inside, counted, meters, events) = (HashMap::new(), Arc::clone(&unread), Meters::default(), Vec::new());
        let beating = EngineLoop { server, clock, orders, inside, held: 0, unread: counted, meters, events };
        start_thread("mock engine", move || {
            let _raised = pacing.raise();
            beating.run();
        })?;
        Ok(Self { commands, unread })
    }

    /// Submits the choices of a request, `n` per prompt, all or none. Returns when they were queued.
    pub(crate) async fn take(&self, wanted: Vec<JobRequest>, n: u32) -> Result<(RunningJobs, Timestamp), SubmitError> {
        let jobs = wanted.iter().map(|wanted| Some(wanted.job.id)).collect();
        let (sender, tokens) = unbounded_channel();
        let (taken, answer) = oneshot::channel();
        let unread = Unread::default();
        let arrival = Submission { wanted, n, tokens: sender, unread: Arc::clone(&unread), taken };
        self.send(Command::Arrive(arrival));
        let work = RunningJobs { engine: self.clone(), jobs, tokens, unread };
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
        self.unread.fetch_sub(1, Relaxed);
        self.engine.unread.fetch_sub(1, Relaxed);
        if due.event.finished
            && let Some(job) = self.jobs.get_mut(due.choice)
        {
            *job = None;
        }
        Some(due)
    }
}

impl Drop for RunningJobs {
    fn drop(&mut self) {
        self.tokens.close();
        self.engine.unread.fetch_sub(self.tokens.len(), Relaxed);
        let undone: Vec<JobId> = self.jobs.iter().copied().flatten().collect();
        if !undone.is_empty() {
            self.engine.send(Command::Cancel(undone));
        }
    }
}

/// The state of the engine thread.
struct EngineLoop {
    server: Box<dyn SimulatedServer + Send>,
    clock: RunClock,
    orders: mpsc::Receiver<Command>,
    inside: HashMap<JobId, ActiveJob>,
    /// The memory that they take.
    held: usize,
    unread: Unread,
    meters: Meters,
    events: Vec<TokenEvent>,
}

/// A job in the server, and the channel for its tokens.
struct ActiveJob {
    choice: usize,
    size: usize,
    tokens: UnboundedSender<TokensDue>,
    unread: Unread,
    passage: JobTimes,
}

/// End of a wait.
enum WakeReason {
    Command(Command),
    EventDue,
    Disconnected,
}

impl EngineLoop {
    /// Runs until every handle is dropped.
    fn run(mut self) {
        let mut sharp = SharpWait::new(self.clock);
        let mut commands = Vec::new();
        loop {
            match self.wait(&mut sharp) {
                WakeReason::Command(command) => commands.push(command),
                WakeReason::EventDue => {}
                WakeReason::Disconnected => return,
            }
            commands.extend(self.orders.try_iter());
            // Read after the last command came: no request is queued before it arrived.
            let now = self.clock.now();
            // What was due earlier happens first.
            self.advance(now);
            for command in commands.drain(..) {
                self.handle_command(now, command);
            }
            self.advance(now);
        }
    }

    /// Waits for the next event or command. It spins through the end of a long wait. A wait that is short from the
    /// beginning is slept through and may end one wake-up late: with such dense events a spinning thread would never
    /// rest and would keep a core from those that write.
    fn wait(&self, sharp: &mut SharpWait) -> WakeReason {
        let mut slept = false;
        loop {
            let Some(next) = self.server.next_event() else {
                return self.orders.recv().map_or(WakeReason::Disconnected, WakeReason::Command);
            };
            let time = match sharp.step_towards(next) {
                WaitStep::Over => return WakeReason::EventDue,
                WaitStep::Sleep(time) => time,
                WaitStep::Spin if !slept => self.clock.until(next),
                WaitStep::Spin => match self.orders.try_recv() {
                    Ok(command) => return WakeReason::Command(command),
                    Err(TryRecvError::Empty) => {
                        std::hint::spin_loop();
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => return WakeReason::Disconnected,
                },
            };
            match self.orders.recv_timeout(time) {
                Ok(command) => return WakeReason::Command(command),
                Err(RecvTimeoutError::Timeout) => slept = true,
                Err(RecvTimeoutError::Disconnected) => return WakeReason::Disconnected,
            }
        }
    }

    fn handle_command(&mut self, now: Timestamp, command: Command) {
        match command {
            Command::Arrive(arrival) => self.admit(now, arrival),
            Command::Cancel(jobs) => jobs.into_iter().for_each(|id| self.abort(now, id)),
            Command::Look(answer) => {
                let _ = answer.send(Readings { gauges: self.server.gauges(), meters: self.meters.clone() });
            }
            Command::ForgetPrefixes(done) => {
                self.server.reset_prefix_cache();
                let _ = done.send(());
            }
        }
    }

    fn abort(&mut self, now: Timestamp, id: JobId) {
        self.server.cancel(now, id);
        if let Some(mut inside) = self.inside.remove(&id) {
            self.held -= inside.size;
            inside.passage.finish = Finish::Abort;
            self.meters.ended(&inside.passage, now);
        }
    }

    fn admit(&mut self, now: Timestamp, arrival: Submission) {
        let Submission { wanted, n, tokens, unread, taken } = arrival;
        let size: usize = wanted.iter().map(JobRequest::size).sum();
        if self.held + size > LARGEST_JOBS {
            let _ = taken.send(Err(SubmitError::NoRoom));
            return;
        }
        let mut submitted: Vec<JobId> = Vec::new();
        for wanted in &wanted {
            if let Err(reject) = self.server.submit(now, wanted.job.clone()) {
                for id in submitted {
                    let _ = self.server.withdraw(now, id);
                }
                let _ = taken.send(Err(reject.into()));
                return;
            }
            submitted.push(wanted.job.id);
        }
        self.held += size;
        for (wanted, choice) in wanted.into_iter().zip(0..) {
            // vLLM counts once per prompt.
            if choice % n as usize == 0 {
                self.meters.arrived(n);
            }
            let (size, tokens, unread) = (wanted.size(), tokens.clone(), Arc::clone(&unread));
            let mut passage = JobTimes::new(now, wanted.job.input_tokens, wanted.max_tokens, wanted.finish);
            passage.has_text = wanted.has_text;
            self.inside.insert(wanted.job.id, ActiveJob { choice, size, tokens, unread, passage });
        }
        let _ = taken.send(Ok(now));
    }

    /// Runs the server up to `now` and hands out its tokens.
    fn advance(&mut self, now: Timestamp) {
        let mut events = std::mem::take(&mut self.events);
        self.server.advance(now, &mut events);
        for event in events.drain(..) {
            let Some(inside) = self.inside.get_mut(&event.job) else { continue };
            let due = TokensDue { choice: inside.choice, event, has_text: inside.passage.has_text };
            let (all, own) = (self.unread.fetch_add(1, Relaxed), inside.unread.fetch_add(1, Relaxed));
            if inside.tokens.send(due).is_err() {
                self.unread.fetch_sub(1, Relaxed);
            } else if all > MOST_UNREAD && own > MOST_OF_ANSWER {
                self.abort(now, event.job);
                continue;
            }
            self.meters.token(&mut inside.passage, &event);
            if event.finished {
                self.held -= inside.size;
                self.meters.ended(&inside.passage, event.at);
                self.inside.remove(&event.job);
            }
        }
        self.events = events;
    }
}

#[cfg(test)]
mod tests;
