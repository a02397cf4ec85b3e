//! Dispatches each request at its scheduled time.
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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::feed::{DispatchedRequest, ReadyRequest, RequestFeed};
use super::options::Pacing;
use crate::clock::{Rank, RunClock, SharpWait, Timestamp, Urgency, WaitStep};

/// Longest sleep of a precise pacer before it checks whether to stop.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// Where a pacer dispatches to, on which clock, and until when.
#[derive(Clone)]
pub(super) struct Outlet {
    pub(super) clock: RunClock,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) out: mpsc::UnboundedSender<DispatchedRequest>,
    /// The priority of a precise pacer.
    pub(super) urgency: Urgency,
}

impl Outlet {
    /// Dispatches a request now. Returns false when nobody takes it any more.
    pub(super) fn dispatch(&self, ready: ReadyRequest) -> bool {
        self.out.send(DispatchedRequest { ready, dispatched: self.clock.now() }).is_ok()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Starts to dispatch, until the schedule ends or soon after the outlet is stopped.
pub(super) fn start(pacing: Pacing, feed: RequestFeed, outlet: Outlet) {
    match pacing {
        Pacing::Precise => _ = std::thread::spawn(move || dispatch_precisely(feed, &outlet)),
        Pacing::Timer => _ = tokio::spawn(dispatch_by_timer(feed, outlet)),
    }
}

fn dispatch_precisely(mut feed: RequestFeed, outlet: &Outlet) {
    let _raised = outlet.urgency.raise(Rank::Measuring);
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
