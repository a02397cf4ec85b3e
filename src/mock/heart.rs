//! The heart of the mock: one thread that lives a simulated server through in real time.
//!
//! ```text
//! handlers ── arrivals, cancellations ──▶ heart: sleep to the next event, advance ── tokens ──▶ streams
//! ```
//!
//! Deadlines are absolute. A heart that was held up gives out at once what is due, each token with the moment it was
//! due at, and puts nothing after it off.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::metrics::{Finish, Meters, Passage};
use crate::clock::{Pause, RunClock, Timestamp};
use crate::simulator::{FirstToken, Gauges, Job, JobId, Reject, Server, TokenEvent};

/// Tokens that are due now, for one of a request's answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// Which answer of the request, from 0.
    pub(super) choice: usize,
    /// When they were due.
    pub(super) at: Timestamp,
    /// How many.
    pub(super) tokens: u32,
    /// What is known with the first of them.
    pub(super) first: Option<FirstToken>,
    /// Whether this answer is whole.
    pub(super) finished: bool,
}

/// One answer to be made.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// What the server is asked.
    pub(super) job: Job,
    /// Most tokens that the client allows.
    pub(super) max_tokens: u32,
    /// Why it will end.
    pub(super) finish: Finish,
}

/// What the heart's server has done until now.
#[derive(Clone, Debug)]
pub(super) struct Readings {
    pub(super) gauges: Gauges,
    pub(super) meters: Meters,
}

/// A way to speak to the heart; it stops beating when the last one is dropped.
#[derive(Clone, Debug)]
pub(super) struct Heart {
    commands: mpsc::Sender<Command>,
}

/// Jobs that the heart is working on for one request. Dropping it cancels those that are not done.
#[derive(Debug)]
pub(super) struct InWork {
    heart: Heart,
    jobs: Vec<Option<JobId>>,
    tokens: UnboundedReceiver<Due>,
}

#[derive(Debug)]
enum Command {
    Arrive(Arrival),
    Cancel(Vec<JobId>),
    Look(oneshot::Sender<Readings>),
    ForgetPrefixes(oneshot::Sender<()>),
}

#[derive(Debug)]
struct Arrival {
    wanted: Vec<Wanted>,
    tokens: UnboundedSender<Due>,
    taken: oneshot::Sender<Result<Timestamp, Reject>>,
}

impl Heart {
    /// Starts to beat on a thread of its own.
    pub(super) fn start(server: Box<dyn Server + Send>, clock: RunClock) -> io::Result<Self> {
        let (commands, orders) = mpsc::channel();
        let beating = Beating {
            server,
            clock,
            orders,
            inside: HashMap::new(),
            meters: Meters::default(),
            events: Vec::new(),
        };
        std::thread::Builder::new().name("mock heart".to_owned()).spawn(move || beating.run())?;
        Ok(Self { commands })
    }

    /// Takes a request's answers into work, all or none, and tells when.
    pub(super) async fn take(&self, wanted: Vec<Wanted>) -> Result<(InWork, Timestamp), Reject> {
        let jobs = wanted.iter().map(|wanted| Some(wanted.job.id)).collect();
        let (sender, tokens) = unbounded_channel();
        let (taken, answer) = oneshot::channel();
        self.send(Command::Arrive(Arrival { wanted, tokens: sender, taken }));
        let work = InWork { heart: self.clone(), jobs, tokens };
        // The heart outlives every handle to it, so it answers.
        let queued = answer.await.unwrap_or(Ok(Timestamp::ZERO))?;
        Ok((work, queued))
    }

    /// What its server has done; `None` when it has stopped.
    pub(super) async fn look(&self) -> Option<Readings> {
        let (answer, readings) = oneshot::channel();
        self.send(Command::Look(answer));
        readings.await.ok()
    }

    /// Forgets all cached prefixes that no job is using.
    pub(super) async fn forget_prefixes(&self) {
        let (done, waiting) = oneshot::channel();
        self.send(Command::ForgetPrefixes(done));
        let _ = waiting.await;
    }

    fn send(&self, command: Command) {
        // It is gone only when the whole mock is going.
        let _ = self.commands.send(command);
    }
}

impl InWork {
    /// The next tokens; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Due> {
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

/// What the heart's thread owns.
struct Beating {
    server: Box<dyn Server + Send>,
    clock: RunClock,
    orders: mpsc::Receiver<Command>,
    inside: HashMap<JobId, Inside>,
    meters: Meters,
    events: Vec<TokenEvent>,
}

/// A job in the server, and who waits for its tokens.
struct Inside {
    choice: usize,
    tokens: UnboundedSender<Due>,
    passage: Passage,
}

/// What ended a wait.
enum Woken {
    By(Command),
    ByTime,
    ForGood,
}

impl Beating {
    fn run(mut self) {
        loop {
            let woken = self.wait();
            let now = self.clock.now();
            // What was due before a command came happens before it.
            self.advance(now);
            match woken {
                Woken::By(command) => self.obey(now, command),
                Woken::ByTime => {}
                Woken::ForGood => return,
            }
            while let Ok(command) = self.orders.try_recv() {
                self.obey(now, command);
            }
            self.advance(now);
        }
    }

    /// Waits for the next event or command. The last stretch of a long wait is spun through. One that is short from the
    /// beginning is slept through, which may make it late by the kernel's timer slack (50 µs): where events are that
    /// dense, a thread that spins would never rest, and would keep those that write from a core.
    fn wait(&self) -> Woken {
        let mut slept = false;
        loop {
            let Some(next) = self.server.next_event() else {
                return self.orders.recv().map_or(Woken::ForGood, Woken::By);
            };
            let time = match self.clock.pause_before(next) {
                Pause::Over => return Woken::ByTime,
                Pause::Sleep(time) => time,
                Pause::Spin if !slept => self.clock.until(next),
                Pause::Spin => match self.orders.try_recv() {
                    Ok(command) => return Woken::By(command),
                    Err(TryRecvError::Empty) => {
                        std::hint::spin_loop();
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => return Woken::ForGood,
                },
            };
            match self.orders.recv_timeout(time) {
                Ok(command) => return Woken::By(command),
                Err(RecvTimeoutError::Timeout) => slept = true,
                Err(RecvTimeoutError::Disconnected) => return Woken::ForGood,
            }
        }
    }

    fn obey(&mut self, now: Timestamp, command: Command) {
        match command {
            Command::Arrive(arrival) => self.admit(now, arrival),
            Command::Cancel(jobs) => {
                for id in jobs {
                    self.server.cancel(now, id);
                    if let Some(mut inside) = self.inside.remove(&id) {
                        inside.passage.finish = Finish::Abort;
                        self.meters.ended(&inside.passage, now);
                    }
                }
            }
            Command::Look(answer) => {
                let _ = answer.send(Readings { gauges: self.server.gauges(), meters: self.meters.clone() });
            }
            Command::ForgetPrefixes(done) => {
                self.server.reset_prefix_cache();
                let _ = done.send(());
            }
        }
    }

    fn admit(&mut self, now: Timestamp, arrival: Arrival) {
        let Arrival { wanted, tokens, taken } = arrival;
        let mut submitted: Vec<JobId> = Vec::new();
        for wanted in &wanted {
            if let Err(reject) = self.server.submit(now, wanted.job.clone()) {
                for id in submitted {
                    self.server.cancel(now, id);
                }
                let _ = taken.send(Err(reject));
                return;
            }
            submitted.push(wanted.job.id);
        }
        self.meters.arrived(wanted.len());
        for (choice, wanted) in wanted.into_iter().enumerate() {
            let passage = Passage::new(now, wanted.job.input_tokens, wanted.max_tokens, wanted.finish);
            self.inside.insert(wanted.job.id, Inside { choice, tokens: tokens.clone(), passage });
        }
        let _ = taken.send(Ok(now));
    }

    /// Does what is due and hands the tokens out.
    fn advance(&mut self, now: Timestamp) {
        self.server.advance(now, &mut self.events);
        for event in self.events.drain(..) {
            let Some(inside) = self.inside.get_mut(&event.job) else { continue };
            let _ = inside.tokens.send(Due {
                choice: inside.choice,
                at: event.at,
                tokens: event.tokens,
                first: event.first,
                finished: event.finished,
            });
            self.meters.token(&mut inside.passage, &event);
            if event.finished
                && let Some(inside) = self.inside.remove(&event.job)
            {
                self.meters.ended(&inside.passage, event.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::simulator::{Delay, FixedQueue};

    fn wanted(id: u64, tokens: u32) -> Wanted {
        Wanted { job: Job::new(JobId(id), 4, tokens), max_tokens: tokens, finish: Finish::Length }
    }

    fn heart(gap: f64) -> (Heart, RunClock) {
        let clock = RunClock::starting_in(Duration::ZERO);
        let server = FixedQueue::new(4, Delay::Constant(0.01), Delay::Constant(gap), 0);
        (Heart::start(Box::new(server), clock).unwrap(), clock)
    }

    #[tokio::test]
    async fn a_gap_of_800_microseconds_is_one_of_800_microseconds() {
        let (heart, clock) = heart(0.000_8);
        let (mut work, queued) = heart.take(vec![wanted(0, 200)]).await.unwrap();
        let mut lateness = Vec::new();
        let mut expected = queued.after(Duration::from_millis(10));
        while let Some(due) = work.next().await {
            lateness.push(clock.now().since(due.at));
            assert_eq!(due.at, expected);
            expected = expected.after(Duration::from_micros(800));
        }
        assert_eq!(lateness.len(), 200);
        lateness.sort_unstable();
        // Usually some 20 µs; the bound is loose for busy machines.
        assert!(lateness[100] < Duration::from_millis(5), "{:?}", lateness[100]);
    }

    #[tokio::test]
    async fn dropped_work_leaves_the_server() {
        let (heart, _) = heart(10.0);
        let (mut work, _) = heart.take(vec![wanted(0, 5), wanted(1, 5)]).await.unwrap();
        assert!(work.next().await.is_some());
        assert_eq!(heart.look().await.unwrap().gauges.num_requests_running, 2);
        drop(work);
        let readings = heart.look().await.unwrap();
        assert_eq!(readings.gauges.num_requests_running, 0);
        assert_eq!(readings.meters.ended_by(Finish::Abort), 2);
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_served_is_refused_whole() {
        let (heart, _) = heart(0.1);
        let refused = heart.take(vec![wanted(0, 5), wanted(1, 0)]).await;
        assert_eq!(refused.unwrap_err(), Reject::Empty);
        assert_eq!(heart.look().await.unwrap().gauges.num_requests_waiting, 0);
    }
}
