//! Waits that end within microseconds, for threads of their own.

use std::time::Duration;

use tokio::time::Instant;

use super::run_clock::{RunClock, Timestamp};

/// Longest stretch at the end of a wait that is spun through. It is the one used until the lateness of sleeps is known.
/// Without Linux's timer slack set ([`SharpWait::new`]), sleeps end later.
const MOST: Duration = Duration::from_micros(if cfg!(target_os = "linux") { 40 } else { 120 });
/// The shortest: the best time of a wake-up.
const LEAST: Duration = Duration::from_micros(2);
/// Share by which the stretch shrinks after each sleep that ended within it. It grows by [`GROWTH`] after each that did
/// not, and so settles where one sleep in three does not.
const SHRINKAGE: u32 = 32;
/// See [`SHRINKAGE`].
const GROWTH: u32 = 16;

/// Wait of a thread that must not be late. It sleeps for as long as sleeps can be trusted and spins for the rest.
///
/// It learns how late sleeps end. Spinning costs as much CPU time as working: on a two-core cloud VM (Intel
/// Xeon, Linux 6.18), where sleeps end 4–5 µs late at the median, a wait that always spun through the last 40
/// µs made up a quarter of the cost of a short request.
#[derive(Debug)]
pub struct SharpWait {
    clock: RunClock,
    spin: Duration,
    /// The last time that was waited for, and when the sleep before it should end.
    asked: Option<(Timestamp, Instant)>,
}

/// The next step of a thread that waits for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// Sleep at most this long and ask again.
    Sleep(Duration),
    /// Ask again at once: a sleep might end too late.
    Spin,
    /// The time has come.
    Over,
}

impl SharpWait {
    /// The waits of this thread. Asks the system to end its sleeps on time: by default Linux lets them be 50
    /// µs late to save power. Where that fails, sleeps stay as they are.
    pub fn new(clock: RunClock) -> Self {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        Self { clock, spin: MOST, asked: None }
    }

    /// Tells how to wait for `moment`. It is called when the wait begins, and after each step but the last.
    pub fn step_towards(&mut self, moment: Timestamp) -> WaitStep {
        let now = Instant::now();
        // A wait that was given up teaches nothing.
        if let Some((_, asked)) = self.asked.take().filter(|(awaited, _)| *awaited == moment) {
            self.woke(asked, now);
        }
        // By the machine's clock: the run's clock is zero until the run begins.
        let left = self.clock.instant(moment).saturating_duration_since(now);
        if left.is_zero() {
            WaitStep::Over
        } else if left > self.spin {
            let sleep = left.saturating_sub(self.spin);
            self.asked = Some((moment, now + sleep));
            WaitStep::Sleep(sleep)
        } else {
            WaitStep::Spin
        }
    }

    /// Learns from a sleep, unless it was cut short.
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
            while let WaitStep::Sleep(time) = wait.step_towards(due) {
                tokio::time::advance(time + Duration::from_micros(late_us(turn))).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_slept_then_spun() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        let mut after = |micros| wait.step_towards(Timestamp::ZERO.after(Duration::from_micros(micros)));
        assert_eq!(after(1_000), WaitStep::Sleep(Duration::from_millis(1).saturating_sub(MOST)));
        assert_eq!(after(40), WaitStep::Spin);
        assert_eq!(after(0), WaitStep::Over);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_has_not_begun_is_waited_for() {
        let lead = Duration::from_millis(20);
        let mut wait = SharpWait::new(RunClock::starting_in(lead));
        assert_eq!(wait.step_towards(Timestamp::ZERO), WaitStep::Sleep(lead.saturating_sub(MOST)));
        tokio::time::advance(lead).await;
        assert_eq!(wait.step_towards(Timestamp::ZERO), WaitStep::Over);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_spun_through_than_sleeps_are_late_by() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        sleeps_late_by(&mut wait, |_| 5).await;
        assert!((4..=6).contains(&wait.spin.as_micros()), "{wait:?}");
        // One in twenty is very late: not worth spinning for. One in two is.
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
            assert!(matches!(wait.step_towards(moment), WaitStep::Sleep(_)));
            tokio::time::advance(Duration::from_millis(5)).await;
        }
        assert_eq!(wait.spin, LEAST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_that_was_cut_short_teaches_nothing() {
        let mut wait = SharpWait::new(RunClock::starting_in(Duration::ZERO));
        for _ in 0..1_000 {
            let due = wait.clock.now().after(Duration::from_millis(1));
            assert_ne!(wait.step_towards(due), WaitStep::Over);
            tokio::time::advance(Duration::from_micros(100)).await;
        }
        assert_eq!(wait.spin, MOST);
    }
}
