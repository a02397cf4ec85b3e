//! Lets each request go at its scheduled moment.
//!
//! ```text
//! feeder thread          pacer                     run loop
//! schedule ─ prepare ─▶ (bounded queue) ─ wait ─▶ (unbounded queue) ─▶ flights
//! ```
//!
//! Deadlines are absolute: the k-th release waits for `origin + scheduled_k`, whatever happened to the ones
//! before it. A pacer that was held up releases what is due at once and is on time again with the next; it
//! never shifts, skips or thins the plan, and how late it was is on every record (`dispatched − scheduled`).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use tokio::sync::mpsc;

use super::Pacing;
use super::turns::first_order;
use crate::clock::{RunClock, SharpWait, Step, Timestamp};
use crate::engine::{Engine, PreparedRequest};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, Sessions};

/// Longest sleep of the precise pacer before it looks whether it should stop.
const NAP: Duration = Duration::from_millis(50);

/// Requests handed over together: to wake a thread costs more than to prepare a request.
const BATCH: usize = 32;

/// Batches prepared ahead of their moments.
const LOOK_AHEAD: usize = 16;

/// A request with its body, ready to leave.
#[derive(Debug)]
pub(super) struct Order {
    /// Its place in the plan; what it says is in the body.
    pub(super) request: PlannedRequest,
    /// What will be written to the socket.
    pub(super) prepared: PreparedRequest,
    /// What it says, where it opens a session whose later turns say it again.
    pub(super) said: Option<Prompt>,
}

/// A request that has been let go, and when.
#[derive(Debug)]
pub(super) struct Released {
    pub(super) order: Order,
    pub(super) dispatched: Timestamp,
}

/// Requests with their prompts and bodies built, ready ahead of their moments.
#[derive(Debug)]
pub struct Feed {
    batches: blocking::Receiver<Vec<Order>>,
    batch: std::vec::IntoIter<Order>,
    /// What follows the first requests of sessions, and who writes it; absent where every request stands by itself.
    later: Option<(Sessions, Arc<PromptBuilder>)>,
}

impl Feed {
    /// Builds prompts and bodies on a thread of its own, some 570 requests ahead, and returns
    /// when the first of them are ready.
    pub fn start<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
    ) -> Self {
        Self::start_with(engine, schedule, None)
    }

    /// The same of a schedule that may have sessions, whose later turns `prompts` writes when their time comes.
    pub fn with_sessions<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        sessions: Option<Sessions>,
        prompts: Arc<PromptBuilder>,
    ) -> Self {
        Self::start_with(engine, schedule, sessions.map(|sessions| (sessions, prompts)))
    }

    fn start_with<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        later: Option<(Sessions, Arc<PromptBuilder>)>,
    ) -> Self {
        let (batches_in, batches) = blocking::sync_channel(LOOK_AHEAD);
        let (ready_in, ready) = blocking::sync_channel(1);
        let sessions = later.as_ref().map(|(sessions, _)| sessions.clone());
        std::thread::spawn(move || {
            let mut orders = schedule.map(|request| first_order(&*engine, sessions.as_ref(), request));
            for sent in 1.. {
                let batch: Vec<Order> = orders.by_ref().take(BATCH).collect();
                // Nothing is left, or the run has ended.
                if batch.is_empty() || batches_in.send(batch).is_err() {
                    return;
                }
                if sent == LOOK_AHEAD / 2 {
                    let _ = ready_in.send(());
                }
            }
        });
        // Either half the look-ahead is built, or the whole schedule is and the thread has gone.
        let _ = ready.recv();
        Self { batches, batch: Vec::new().into_iter(), later }
    }

    /// Takes out what follows the first requests of sessions.
    pub(super) fn take_later(&mut self) -> Option<(Sessions, Arc<PromptBuilder>)> {
        self.later.take()
    }

    fn next(&mut self) -> Option<Order> {
        loop {
            if let Some(order) = self.batch.next() {
                return Some(order);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}

/// Starts to release into `out`, until the schedule ends, or soon after `stop` is set.
pub(super) fn start(
    pacing: Pacing,
    feed: Feed,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<Released>,
) {
    match pacing {
        Pacing::Precise => {
            std::thread::spawn(move || release_precisely(feed, clock, &stop, &out));
        }
        Pacing::Timer => {
            tokio::spawn(release_by_timer(feed, clock, stop, out));
        }
    }
}

fn release_precisely(
    mut feed: Feed,
    clock: RunClock,
    stop: &AtomicBool,
    out: &mpsc::UnboundedSender<Released>,
) {
    let mut wait = SharpWait::new(clock);
    while let Some(order) = feed.next() {
        loop {
            if stop.load(Relaxed) {
                return;
            }
            match wait.step_towards(order.request.scheduled) {
                Step::Sleep(left) => std::thread::sleep(left.min(NAP)),
                Step::Spin => std::hint::spin_loop(),
                Step::Over => break,
            }
        }
        if out.send(Released { order, dispatched: clock.now() }).is_err() {
            return;
        }
    }
}

async fn release_by_timer(
    mut feed: Feed,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<Released>,
) {
    while let Some(order) = feed.next() {
        tokio::time::sleep_until(clock.instant(order.request.scheduled)).await;
        if stop.load(Relaxed) || out.send(Released { order, dispatched: clock.now() }).is_err() {
            return;
        }
    }
}
