//! The clock of one run, and its moments.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::Instant;

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
    /// Returns a clock whose zero is `lead` in the future. Everything can be prepared before it.
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

    /// Returns the moment on this clock; zero until the run begins.
    pub(crate) fn timestamp(&self, moment: Instant) -> Timestamp {
        let since_start = moment.saturating_duration_since(self.origin);
        Timestamp::from_nanos(u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns how long from now until `moment`; zero when it has passed.
    pub fn until(&self, moment: Timestamp) -> Duration {
        self.instant(moment).saturating_duration_since(Instant::now())
    }

    /// The moment for tokio's timers.
    pub fn instant(&self, moment: Timestamp) -> Instant {
        self.origin + Duration::from_nanos(moment.as_nanos())
    }

    /// Returns the wall-clock time of the run's zero. It is for names and headers only: no latency is computed from it.
    pub fn started_at(&self) -> jiff::Timestamp {
        self.started_at
    }
}

/// A moment of a run: nanoseconds since the run began, monotonic.
///
/// Zero is the zero of the schedule. A `u64` of nanoseconds lasts 584 years. One more is stored, so that an
/// optional moment takes no more room than a moment: a record has five.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Timestamp(NonZeroU64);

impl Default for Timestamp {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({})", self.as_nanos())
    }
}

impl From<u64> for Timestamp {
    fn from(nanos: u64) -> Self {
        Self::from_nanos(nanos)
    }
}

impl From<Timestamp> for u64 {
    fn from(moment: Timestamp) -> Self {
        moment.as_nanos()
    }
}

impl Timestamp {
    /// The moment the run began.
    pub const ZERO: Self = Self(NonZeroU64::MIN);

    /// The moment `nanos` nanoseconds after the run began. The last one is a nanosecond before the end of a `u64`.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The moment `seconds` after the run began, rounded down to the nanosecond.
    ///
    /// Negative and not-a-number become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self::from_nanos((seconds * 1e9) as u64)
    }

    /// Nanoseconds since the run began.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// Time from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.as_nanos().saturating_sub(earlier.as_nanos()))
    }

    /// The moment `duration` after this one, at most the end of representable time.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
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

    #[test]
    fn arithmetic_saturates() {
        let early = Timestamp::from_nanos(5);
        let late = Timestamp::from_nanos(9);
        assert_eq!(late.since(early), Duration::from_nanos(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(Timestamp::from_secs_f64(-1.0), Timestamp::ZERO);
        assert_eq!(Timestamp::from_nanos(u64::MAX).after(Duration::from_secs(1)).as_nanos(), u64::MAX - 1);
    }
}
