//! The clock of one run.

use std::time::Duration;

use tokio::time::Instant;

use super::timestamp::Timestamp;

/// The clock of one run. Copies are the same clock.
///
/// It follows tokio's clock, so that whole runs can be tested in paused, exact time. Outside tests that is
/// the operating system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: Instant,
    started_at: jiff::Timestamp,
}

impl RunClock {
    /// A clock whose zero is `lead` in the future, so that everything can be prepared before it.
    pub fn starting_in(lead: Duration) -> Self {
        Self { origin: Instant::now() + lead, started_at: jiff::Timestamp::now() + lead }
    }

    /// A clock whose zero is this wall-clock time; `None` when it has passed.
    pub fn starting_at(moment: jiff::Timestamp) -> Option<Self> {
        let lead = Duration::try_from(moment.duration_since(jiff::Timestamp::now())).ok()?;
        Some(Self { origin: Instant::now() + lead, started_at: moment })
    }

    /// The current time; zero until the run begins.
    pub fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    pub(super) fn timestamp(&self, moment: Instant) -> Timestamp {
        let since_start = moment.saturating_duration_since(self.origin);
        Timestamp::from_nanos(u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long from now until `moment`; zero when it has passed.
    pub fn until(&self, moment: Timestamp) -> Duration {
        self.instant(moment).saturating_duration_since(Instant::now())
    }

    /// The moment for tokio's timers.
    pub fn instant(&self, moment: Timestamp) -> Instant {
        self.origin + Duration::from_nanos(moment.as_nanos())
    }

    /// The wall-clock time of the run's zero, for names and headers only: no latency is computed from it.
    pub fn started_at(&self) -> jiff::Timestamp {
        self.started_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn now_is_zero_until_the_run_begins_and_exact_after() {
        let clock = RunClock::starting_in(Duration::from_millis(50));
        assert_eq!(clock.now(), Timestamp::ZERO);
        tokio::time::sleep(Duration::from_millis(120)).await;
        assert_eq!(clock.now(), Timestamp::from_nanos(70_000_000));
        assert_eq!(clock.until(Timestamp::from_nanos(90_000_000)), Duration::from_millis(20));
    }

    #[test]
    fn a_clock_may_start_at_a_moment_of_the_wall_clock_that_is_to_come() {
        let moment = jiff::Timestamp::now() + Duration::from_hours(1);
        let clock = RunClock::starting_at(moment).unwrap();
        assert_eq!((clock.started_at(), clock.now()), (moment, Timestamp::ZERO));
        let left = clock.until(Timestamp::ZERO);
        assert!(left > Duration::from_mins(59) && left <= Duration::from_hours(1), "{left:?}");
        assert!(RunClock::starting_at(jiff::Timestamp::UNIX_EPOCH).is_none());
    }
}
