//! Builds each request ahead of time, and dispatches it at its scheduled time.
//!
//! ```text
//! feeder thread          pacer                     run loop
//! schedule ─ prepare ─▶ (bounded queue) ─ wait ─▶ (unbounded queue) ─▶ request runs
//! ```
//!
//! Deadlines are absolute: the k-th dispatch waits for `origin + scheduled_k`, whatever happened to earlier
//! ones. This avoids coordinated omission. A delayed pacer dispatches what is due at once and is on time
//! again with the next request. It never shifts, skips or thins the plan. Every record says how late it was:
//! `schedule_lag = dispatched − scheduled`.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use crate::clock::{Pacing, RunClock, SharpWait, Timestamp, WaitStep, start_thread};
use crate::engine::{CaptureText, Engine, PreparedRequest};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, SessionPlanner};

/// Requests handed over together: waking a thread costs more than preparing a request.
const BATCH: usize = 32;

/// Batches prepared ahead.
const LOOK_AHEAD: usize = 16;

/// A flag for panics of threads that prepare or dispatch requests. A clone dropped by such a panic raises it.
#[derive(Clone, Debug, Default)]
pub(super) struct FeedWitness(Arc<AtomicBool>);

impl FeedWitness {
    /// The state of these threads.
    ///
    /// # Errors
    ///
    /// When one of them has panicked.
    pub(super) fn check(&self) -> io::Result<()> {
        let words = "skyline itself failed: a thread that prepares or sends requests has panicked, so a part of the \
            plan was not sent\nhint: please report this, with the message of the panic";
        if self.0.load(Relaxed) { Err(io::Error::other(words)) } else { Ok(()) }
    }
}

impl Drop for FeedWitness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// A request with its body, ready to be dispatched.
pub(super) struct ReadyRequest {
    /// Its entry in the plan; its prompt is in the body.
    pub(super) request: PlannedRequest,
    /// The request as it is written to the socket.
    pub(super) prepared: PreparedRequest,
    /// Its prompt, where it opens a session whose later turns repeat it.
    pub(super) said: Option<Prompt>,
}

/// A request that was dispatched, and when.
pub(super) struct DispatchedRequest {
    pub(super) ready: ReadyRequest,
    pub(super) dispatched: Timestamp,
    /// Whether it was sent as it was dispatched.
    pub(super) is_sent: bool,
}

/// A way to send a request now. It hands the request on before anyone can know its end.
pub(super) type SendNow = dyn Fn(ReadyRequest, Timestamp, &mut dyn FnMut(ReadyRequest) -> bool) + Send + Sync;

/// Requests with their prompts and bodies built ahead of time.
pub struct RequestFeed {
    batches: blocking::Receiver<Vec<ReadyRequest>>,
    batch: std::vec::IntoIter<ReadyRequest>,
    /// Plan and writer of later turns; `None` where no request belongs to a session.
    later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    pub(super) witness: FeedWitness,
}

impl RequestFeed {
    /// Requests that are ready before a run begins, of a plan that has more.
    pub const READY: u64 = (BATCH * LOOK_AHEAD / 2) as u64;

    /// Builds prompts and bodies on its own thread, about 570 requests ahead. Returns when the first ones are
    /// ready. `later` plans and writes the later turns of sessions, where the schedule has any.
    ///
    /// # Errors
    ///
    /// When there is no thread for it, or it panics at once.
    pub fn start<E: Engine>(
        engine: Arc<E>,
        schedule: impl Iterator<Item = RequestSpec> + Send + 'static,
        later: Option<(SessionPlanner, Arc<PromptBuilder>)>,
    ) -> io::Result<Self> {
        let (batches_in, batches) = blocking::sync_channel(LOOK_AHEAD);
        let (ready_in, ready) = blocking::sync_channel(1);
        let sessions = later.as_ref().map(|(sessions, _)| sessions.clone());
        let witness = FeedWitness::default();
        let of_feed = witness.clone();
        start_thread("request feed", move || {
            let _witness = of_feed;
            let mut requests = schedule.map(|request| first_request(&*engine, sessions.as_ref(), request));
            for sent in 1.. {
                let batch: Vec<ReadyRequest> = requests.by_ref().take(BATCH).collect();
                // Nothing is left, or the run has ended.
                if batch.is_empty() || batches_in.send(batch).is_err() {
                    return;
                }
                if sent == LOOK_AHEAD / 2 {
                    let _ = ready_in.send(());
                }
            }
        })?;
        // Half the look-ahead is built, or the whole schedule is and the thread has ended.
        let _ = ready.recv();
        witness.check()?;
        Ok(Self { batches, batch: Vec::new().into_iter(), later, witness })
    }

    /// Whether some requests belong to sessions.
    pub(super) fn has_later(&self) -> bool {
        self.later.is_some()
    }

    /// Takes the plan and the writer of later turns.
    pub(super) fn take_later(&mut self) -> Option<(SessionPlanner, Arc<PromptBuilder>)> {
        self.later.take()
    }

    pub(super) fn next(&mut self) -> Option<ReadyRequest> {
        loop {
            if let Some(ready) = self.batch.next() {
                return Some(ready);
            }
            self.batch = self.batches.recv().ok()?.into_iter();
        }
    }
}

/// The request, with its answer's text captured where a later turn may repeat it.
pub(super) fn carried(request: PreparedRequest, goes_on: bool) -> PreparedRequest {
    if goes_on { request.capturing(CaptureText::Yes) } else { request }
}

/// A request of the plan, with its prompt where later turns repeat it.
fn first_request<E: Engine>(engine: &E, sessions: Option<&SessionPlanner>, spec: RequestSpec) -> ReadyRequest {
    let goes_on = sessions.is_some_and(|sessions| sessions.has_next_turn(&spec.planned));
    let prepared = carried(engine.prepare(&spec), goes_on);
    ReadyRequest { request: spec.planned, prepared, said: goes_on.then_some(spec.prompt) }
}

/// Longest sleep of a precise pacer before it checks whether to stop.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// Receiver of what a pacer dispatches, its clock, and its end.
#[derive(Clone)]
pub(super) struct Outlet {
    pub(super) clock: RunClock,
    pub(super) stop: Arc<AtomicBool>,
    /// Witness of the feed. It stands before `out`, so that the run loop sees a panic no later than the end of what is
    /// dispatched.
    pub(super) witness: FeedWitness,
    pub(super) out: mpsc::UnboundedSender<DispatchedRequest>,
    /// Sends requests without the run loop, which only hears of them. `None` where it decides when each is sent.
    pub(super) send_now: Option<Arc<SendNow>>,
    /// The priority of a precise pacer.
    pub(super) pacing: Pacing,
}

impl Outlet {
    /// Dispatches a request now. Returns false when nobody takes it any more.
    pub(super) fn dispatch(&self, ready: ReadyRequest) -> bool {
        let dispatched = self.clock.now();
        let Some(send_now) = &self.send_now else {
            return self.out.send(DispatchedRequest { ready, dispatched, is_sent: false }).is_ok();
        };
        let mut is_taken = true;
        send_now(ready, dispatched, &mut |ready| {
            is_taken = self.out.send(DispatchedRequest { ready, dispatched, is_sent: true }).is_ok();
            is_taken
        });
        is_taken
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Starts to dispatch, until the schedule ends or soon after the outlet is stopped.
pub(super) fn start(pacing: Pacing, feed: RequestFeed, outlet: Outlet) -> io::Result<()> {
    match pacing {
        Pacing::Precise | Pacing::RealTime => {
            _ = start_thread("pacer", move || dispatch_precisely(feed, &outlet))?;
        }
        Pacing::Timer => _ = tokio::spawn(dispatch_by_timer(feed, outlet)),
    }
    Ok(())
}

fn dispatch_precisely(mut feed: RequestFeed, outlet: &Outlet) {
    let _raised = outlet.pacing.raise();
    let mut wait = SharpWait::new(outlet.clock);
    while let Some(ready) = feed.next() {
        loop {
            if outlet.is_stopped() {
                return;
            }
            match wait.step_towards(ready.request.scheduled) {
                WaitStep::Sleep(left) => std::thread::sleep(left.min(NAP)),
                WaitStep::Spin => std::hint::spin_loop(),
                WaitStep::Over => break,
            }
        }
        if !outlet.dispatch(ready) {
            return;
        }
    }
}

async fn dispatch_by_timer(mut feed: RequestFeed, outlet: Outlet) {
    while let Some(ready) = feed.next() {
        sleep_until(outlet.clock.instant(ready.request.scheduled)).await;
        if outlet.is_stopped() || !outlet.dispatch(ready) {
            return;
        }
    }
}

/// Waits until the given time, or for ever.
pub(super) async fn ring_at(clock: RunClock, moment: Option<Timestamp>) {
    match moment {
        Some(moment) => sleep_until(clock.instant(moment)).await,
        None => std::future::pending().await,
    }
}
