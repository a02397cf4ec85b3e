//! Measures how late the run loop returns to a timer that is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use crate::clock::{RunClock, Timestamp};
use crate::engine::ReaderTicks;
use crate::record::Delays;

/// Time between two ticks.
const EVERY: Duration = Duration::from_millis(10);

/// Task in the run loop that records how late it woke. It sleeps until each multiple of 10 ms. Its ticks also bound the
/// stamps of what was read late.
///
/// The runtime's timer has a granularity of 1 ms and rounds up: an idle loop shows delays of about 1 ms, at
/// most 2. They are part of the figure.
pub(super) struct LoopDelay {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Histogram<u64>>,
}

/// The longest delay since it was last taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest(Arc<AtomicU64>);

impl Longest {
    fn note(&self, late: u64) {
        // 0 means that no delay was measured, not a delay of zero.
        self.0.fetch_max(late.max(1), Relaxed);
    }

    /// Nanoseconds; `None` when nothing was measured since the last call.
    pub(super) fn take(&self) -> Option<u64> {
        Some(self.0.swap(0, Relaxed)).filter(|&late| late > 0)
    }
}

impl LoopDelay {
    /// Starts at the run's zero, in the current runtime. The longest delay goes to `longest`, which may have others.
    pub(super) fn start(clock: RunClock, longest: Longest) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(look_on(clock, stopped, longest)) }
    }

    /// The delays so far; `None` before the first tick.
    pub(super) async fn finish(self) -> Option<Delays> {
        let _ = self.stop.send(());
        delays(&self.task.await.ok()?)
    }
}

async fn look_on(clock: RunClock, mut stopped: oneshot::Receiver<()>, longest: Longest) -> Histogram<u64> {
    // Three digits over any delay; the histogram grows as needed.
    let mut lateness = Histogram::new(3).unwrap_or_else(|_| unreachable!("3 digits are allowed"));
    let mut due = Timestamp::ZERO;
    let _ticks = ReaderTicks::start();
    loop {
        tokio::select! {
            // A tick that is due counts at the end too.
            biased;
            () = sleep_until(clock.instant(due)) => {}
            _ = &mut stopped => return lateness,
        }
        let now = clock.now();
        ReaderTicks::tick(now);
        let late = now.since(due).as_nanos() as u64;
        longest.note(late);
        // Ticks missed meanwhile were late too, each by less: otherwise a long delay would weigh no more
        // than a short one (coordinated omission). A value past any histogram, over 500 years, is left out.
        let _ = lateness.record_correct(late, EVERY.as_nanos() as u64);
        due = due.after(EVERY * (now.since(due).as_nanos() / EVERY.as_nanos() + 1) as u32);
    }
}

fn delays(lateness: &Histogram<u64>) -> Option<Delays> {
    (!lateness.is_empty()).then(|| Delays {
        n: lateness.len(),
        p50_ns: lateness.value_at_quantile(0.5),
        p99_ns: lateness.value_at_quantile(0.99),
        max_ns: lateness.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn every_tick_is_a_sample_and_an_idle_loop_is_never_late() {
        let clock = RunClock::starting_in(EVERY);
        let watch = LoopDelay::start(clock, Longest::default());
        sleep_until(clock.instant(Timestamp::from_nanos(995_000_000))).await;
        let delays = watch.finish().await.unwrap();
        assert_eq!((delays.n, delays.max_ns), (100, 0), "0, 10, … 990 ms");
    }

    #[tokio::test(start_paused = true)]
    async fn ticks_that_the_loop_slept_through_are_late_each() {
        let clock = RunClock::starting_in(Duration::ZERO);
        let longest = Longest::default();
        let watch = LoopDelay::start(clock, longest.clone());
        assert_eq!(longest.take(), None);
        sleep_until(clock.instant(Timestamp::from_nanos(15_000_000))).await;
        // The loop is busy from 15 ms to 62 ms: the tick of 20 ms is 42 ms late, the next is that of 70 ms.
        tokio::time::advance(Duration::from_millis(47)).await;
        sleep_until(clock.instant(Timestamp::from_nanos(75_000_000))).await;
        assert!(longest.take().is_some_and(|late| late.abs_diff(42_000_000) < 50_000));
        assert_eq!(longest.take(), None, "a delay is taken once");
        let delays = watch.finish().await.unwrap();
        assert_eq!(delays.n, 7, "0, 10 and 70 ms in time; 20 ms late by 42, 30, 40 and 50 ms by 32, 22 and 12");
        assert!(delays.max_ns.abs_diff(42_000_000) < 50_000, "{delays:?}");
        assert!(delays.p50_ns.abs_diff(12_000_000) < 50_000, "{delays:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn its_ticks_bound_what_a_loop_reads_that_was_held_up() {
        let clock = RunClock::starting_in(Duration::ZERO);
        let late_by = || ReaderTicks::late_by(clock.now(), Timestamp::ZERO);
        let watch = LoopDelay::start(clock, Longest::default());
        sleep_until(clock.instant(Timestamp::from_nanos(15_000_000))).await;
        assert_eq!(late_by(), Duration::ZERO);
        tokio::time::advance(Duration::from_millis(300)).await;
        assert!((300..=330).contains(&late_by().as_millis()), "{:?}", late_by());
        sleep_until(clock.instant(Timestamp::from_nanos(345_000_000))).await;
        assert_eq!(late_by(), Duration::ZERO);
        tokio::time::advance(Duration::from_millis(300)).await;
        watch.finish().await;
        assert_eq!(late_by(), Duration::ZERO, "nobody knows after its end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_without_a_tick_has_no_delay() {
        let watch = LoopDelay::start(RunClock::starting_in(Duration::from_secs(1)), Longest::default());
        assert_eq!(watch.finish().await, None);
    }
}
