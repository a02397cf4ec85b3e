//! Waits that end to within microseconds, for threads of their own.

use std::time::Duration;

use tokio::time::Instant;

use super::run_clock::RunClock;
use super::timestamp::Timestamp;

/// The longest stretch that is spun through at the end of a wait, and the one that is until sleeps have shown how late
/// they end. Without Linux's timer slack set ([`SharpWait::new`]) systems end sleeps later.
const MOST: Duration = Duration::from_micros(if cfg!(target_os = "linux") { 40 } else { 120 });
/// The shortest: what it takes to wake up at best.
const LEAST: Duration = Duration::from_micros(2);
/// The stretch shrinks by this share of itself at each sleep that ended within it, and grows by [`GROWTH`] at each that
/// did not: it comes to rest where one sleep in three does not.
const SHRINKAGE: u32 = 32;
/// See [`SHRINKAGE`].
const GROWTH: u32 = 16;

/// How a thread waits that must not be late: it sleeps for as long as sleeps can be trusted, and spins for the rest.
///
/// How late sleeps end is learned from them. Spinning costs as much CPU time as working does: on a two-core cloud VM
/// (Intel Xeon, Linux 6.18), where sleeps end 4–5 µs late at the median, a wait that always spun through the last 40 µs
/// made up a quarter of what a short request cost.
#[derive(Debug)]
pub struct SharpWait {
    clock: RunClock,
    spin: Duration,
    /// The moment that was waited for last, and when the sleep before it ought to be over.
    asked: Option<(Timestamp, Instant)>,
}

/// What a thread that must not be late does next while a moment is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sleep at most this long and ask again.
    Sleep(Duration),
    /// Ask again at once: the moment is nearer than a sleep can be trusted.
    Spin,
    /// The moment has come.
    Over,
}

impl SharpWait {
    /// The waits of this thread. The system is asked to end its sleeps on time: Linux by default lets them be 50 µs
    /// late to save power. Where it cannot be asked, sleeps stay as they are.
    #[must_use]
    pub fn new(clock: RunClock) -> Self {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        Self { clock, spin: MOST, asked: None }
    }

    /// How to wait for `moment`: asked when the wait begins, and again after each step that was not the last.
    pub fn step_towards(&mut self, moment: Timestamp) -> Step {
        let now = Instant::now();
        // A wait that was given up teaches nothing.
        if let Some((_, asked)) = self.asked.take().filter(|(awaited, _)| *awaited == moment) {
            self.woke(asked, now);
        }
        // By the clock of the machine: that of the run stands at zero until the run begins.
        let left = self.clock.instant(moment).saturating_duration_since(now);
        if left.is_zero() {
            Step::Over
        } else if left > self.spin {
            let sleep = left.saturating_sub(self.spin);
            self.asked = Some((moment, now + sleep));
            Step::Sleep(sleep)
        } else {
            Step::Spin
        }
    }

    /// Learns from a sleep, unless it was ended before its time.
    fn woke(&mut self, asked: Instant, now: Instant) {
        let Some(late) = now.checked_duration_since(asked) else { return };
        let spin = if late > self.spin {
            self.spin.saturating_add(self.spin / GROWTH)
        } else {
            self.spin.saturating_sub(self.spin / SHRINKAGE)
        };
        self.spin = spin.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sleeps_late_by(wait: &mut SharpWait, late_us: impl Fn(u32) -> u64) {
        for turn in 0..2_000 {
            let due = wait.clock.now().after(Duration::from_millis(1));
            while let Step::Sleep(time) = wait.step_towards(due) {
                tokio::time::advance(time + Duration::from_micros(late_us(turn))).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_slept_then_spun() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        let mut after = |micros| wait.step_towards(Timestamp::ZERO.after(Duration::from_micros(micros)));
        assert_eq!(after(1_000), Step::Sleep(Duration::from_millis(1).saturating_sub(MOST)));
        assert_eq!(after(40), Step::Spin);
        assert_eq!(after(0), Step::Over);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_has_not_begun_is_waited_for() {
        let lead = Duration::from_millis(20);
        let mut wait = SharpWait::new(RunClock::starting_in(lead));
        assert_eq!(wait.step_towards(Timestamp::ZERO), Step::Sleep(lead.saturating_sub(MOST)));
        tokio::time::advance(lead).await;
        assert_eq!(wait.step_towards(Timestamp::ZERO), Step::Over);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_spun_through_than_sleeps_are_late_by() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        sleeps_late_by(&mut wait, |_| 5).await;
        assert!((4..=6).contains(&wait.spin.as_micros()), "{wait:?}");
        // One in twenty is very late: that is not worth spinning for. One in two is.
        sleeps_late_by(&mut wait, |turn| if turn % 20 == 0 { 30 } else { 5 }).await;
        assert!((4..=8).contains(&wait.spin.as_micros()), "{wait:?}");
        sleeps_late_by(&mut wait, |turn| if turn % 2 == 0 { 30 } else { 5 }).await;
        assert!((26..=36).contains(&wait.spin.as_micros()), "{wait:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_spun_stretch_keeps_its_bounds() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        sleeps_late_by(&mut wait, |_| 0).await;
        assert_eq!(wait.spin, LEAST);
        sleeps_late_by(&mut wait, |_| 10_000).await;
        assert_eq!(wait.spin, MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_was_given_up_teaches_nothing() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        sleeps_late_by(&mut wait, |_| 0).await;
        let due = |wait: &SharpWait| wait.clock.now().after(Duration::from_millis(1));
        for _ in 0..100 {
            let moment = due(&wait);
            assert!(matches!(wait.step_towards(moment), Step::Sleep(_)));
            tokio::time::advance(Duration::from_millis(5)).await;
        }
        assert_eq!(wait.spin, LEAST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_that_was_cut_short_teaches_nothing() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        for _ in 0..1_000 {
            let due = wait.clock.now().after(Duration::from_millis(1));
            assert_ne!(wait.step_towards(due), Step::Over);
            tokio::time::advance(Duration::from_micros(100)).await;
        }
        assert_eq!(wait.spin, MOST);
    }
}
