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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::mpsc;

use super::feed::Feed;
use super::options::Pacing;
use super::release::Released;
use crate::clock::{RunClock, SharpWait, Step};

/// Longest sleep of the precise pacer before it looks whether it should stop.
const NAP: Duration = Duration::from_millis(50);

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
