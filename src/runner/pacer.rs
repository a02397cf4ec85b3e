//! Dispatches each request at its scheduled time.
//!
//! ```text
//! feed                     pacer                     run loop
//! plan ─ write, prepare ─▶ (bounded queue) ─ wait ─▶ (unbounded queue) ─▶ request runs
//! ```
//!
//! Deadlines are absolute: the k-th dispatch waits for `origin + scheduled_k`, whatever happened to earlier
//! ones. This avoids coordinated omission. A delayed pacer dispatches what is due at once and is on time
//! again with the next request. It never shifts, skips or thins the plan. Every record says how late it was:
//! `schedule_lag = dispatched − scheduled`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::feed::{FeedWitness, ReadyRequest, RequestFeed};
use crate::clock::{Pacing, RunClock, SharpWait, Timestamp, WaitStep, start_thread};

/// A request that was dispatched, and when.
pub(super) struct DispatchedRequest {
    pub(super) ready: ReadyRequest,
    pub(super) dispatched: Timestamp,
    /// Whether it was sent as it was dispatched.
    pub(super) is_sent: bool,
}

/// A way to send a request now. It hands the request on before anyone can know its end.
pub(super) type SendNow = dyn Fn(ReadyRequest, Timestamp, &mut dyn FnMut(ReadyRequest) -> bool) + Send + Sync;

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
    let _raised = outlet.pacing.raise_pacer();
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
