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

use super::feed::{DispatchedRequest, RequestFeed};
use super::options::Pacing;
use crate::clock::{RunClock, SharpWait, WaitStep};

/// Longest sleep of a precise pacer before it checks `stop`.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// Starts to dispatch into `out`, until the schedule ends or soon after `stop` is set.
pub(super) fn start(
    pacing: Pacing,
    feed: RequestFeed,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<DispatchedRequest>,
) {
    match pacing {
        Pacing::Precise => {
            std::thread::spawn(move || dispatch_precisely(feed, clock, &stop, &out));
        }
        Pacing::Timer => {
            tokio::spawn(dispatch_by_timer(feed, clock, stop, out));
        }
    }
}

fn dispatch_precisely(
    mut feed: RequestFeed,
    clock: RunClock,
    stop: &AtomicBool,
    out: &mpsc::UnboundedSender<DispatchedRequest>,
) {
    let mut wait = SharpWait::new(clock);
    while let Some(ready) = feed.next() {
        loop {
            if stop.load(Relaxed) {
                return;
            }
            match wait.step_towards(ready.request.scheduled) {
                WaitStep::Sleep(left) => std::thread::sleep(left.min(NAP)),
                WaitStep::Spin => std::hint::spin_loop(),
                WaitStep::Over => break,
            }
        }
        if out.send(DispatchedRequest { ready, dispatched: clock.now() }).is_err() {
            return;
        }
    }
}

async fn dispatch_by_timer(
    mut feed: RequestFeed,
    clock: RunClock,
    stop: Arc<AtomicBool>,
    out: mpsc::UnboundedSender<DispatchedRequest>,
) {
    while let Some(ready) = feed.next() {
        tokio::time::sleep_until(clock.instant(ready.request.scheduled)).await;
        if stop.load(Relaxed) || out.send(DispatchedRequest { ready, dispatched: clock.now() }).is_err() {
            return;
        }
    }
}
