//! Converts the kernel's receive stamps, which are wall-clock times, to the clock of a run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::run_clock::{RunClock, Timestamp};

/// Largest distance between two readings of the same lead. Where they are further apart, the wall clock was set, or
/// this thread was stopped between its two readings.
const TOLERANCE: i64 = 20_000;
/// Time for which a lead is used before it is measured again.
const RENEWAL: i64 = 1_000_000_000;
/// Measurements of which the tightest is used.
const TRIES: u32 = 5;

/// Knows by how much the wall clock leads the monotonic one.
///
/// Time synchronisation slows and speeds both alike, so the lead stays the same until the wall clock is set.
/// It is measured as `wall − (before + after) / 2`, with the monotonic clock read before and after the wall
/// clock, the tightest of five such readings: good to some ten nanoseconds. Each stamp is compared with fresh
/// readings of both clocks. Where these disagree with the lead, it is measured again at once, and stamps from
/// before the change are dropped, since it is unknown which clock they were read from.
#[derive(Debug)]
pub struct KernelClock {
    anchor: Instant,
    /// Wall-clock nanoseconds since 1970 minus monotonic nanoseconds since `anchor`.
    lead: i64,
    /// Moment when the lead was measured, on the monotonic clock.
    measured: i64,
    /// Stamps before this wall-clock time are from before the clock was set.
    believed_from: i64,
}

/// One reading of both clocks, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    monotonic: i64,
    wall: i64,
}

/// Moment when bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Moment when the read that brought them returned.
    pub read: Timestamp,
    /// Time for which the kernel had them before that read returned. Of several packets it is that of the last. It is
    /// `None` where the kernel gives no stamp or an impossible one.
    pub delay: Option<Duration>,
}

impl Receipt {
    /// The kernel's time where it is known, else the read's.
    pub fn at(self) -> Timestamp {
        let delay = self.delay.map_or(0, |delay| delay.as_nanos() as u64);
        Timestamp::from_nanos(self.read.as_nanos().saturating_sub(delay))
    }
}

impl RunClock {
    /// Returns the receipt for a read that has just returned, with the kernel's stamp. The stamp is time since 1970.
    ///
    /// Bytes cannot have come before `earliest`, when the request began to leave. However long they lay in
    /// the kernel after that, the stamp is used: a client that was stopped for seconds still knows when an
    /// answer came.
    pub fn receipt(&self, kernel: &mut KernelClock, stamp: Option<Duration>, earliest: Timestamp) -> Receipt {
        let now = Instant::now();
        let read = self.timestamp(now);
        let delay = stamp.and_then(|stamp| kernel.delay(stamp, now));
        Receipt { read, delay: delay.filter(|&delay| delay <= read.since(earliest)) }
    }
}

impl Default for KernelClock {
    fn default() -> Self {
        let anchor = Instant::now();
        let look = tightest_reading(anchor);
        Self { anchor, lead: look.lead(), measured: look.monotonic, believed_from: i64::MIN }
    }
}

impl KernelClock {
    /// Returns how long before `now` the kernel stamped.
    fn delay(&mut self, stamp: Duration, now: Instant) -> Option<Duration> {
        let look = ClockReading { monotonic: since(self.anchor, now), wall: wall_now() };
        let anchor = self.anchor;
        let delay = self.judge(stamp.as_nanos() as i64, look, || tightest_reading(anchor))?;
        Some(Duration::from_nanos(delay.unsigned_abs()))
    }

    fn judge(&mut self, stamp: i64, look: ClockReading, measure: impl FnOnce() -> ClockReading) -> Option<i64> {
        let due = look.monotonic - self.measured >= RENEWAL;
        if due || (look.lead() - self.lead).abs() > TOLERANCE {
            let fresh = measure();
            if (fresh.lead() - self.lead).abs() > TOLERANCE {
                self.believed_from = fresh.wall;
            }
            (self.lead, self.measured) = (fresh.lead(), fresh.monotonic);
        }
        let delay = look.monotonic + self.lead - stamp;
        (stamp >= self.believed_from && delay >= 0).then_some(delay)
    }
}

impl ClockReading {
    fn lead(self) -> i64 {
        self.wall - self.monotonic
    }
}

fn tightest_reading(anchor: Instant) -> ClockReading {
    let looks = (0..TRIES).map(|_| {
        let (before, wall, after) = (since(anchor, Instant::now()), wall_now(), since(anchor, Instant::now()));
        (after - before, ClockReading { monotonic: i64::midpoint(before, after), wall })
    });
    let tightest = looks.min_by_key(|(width, _)| *width);
    tightest.map_or_else(|| unreachable!("there is more than one try"), |(_, look)| look)
}

fn since(anchor: Instant, moment: Instant) -> i64 {
    moment.saturating_duration_since(anchor).as_nanos() as i64
}

fn wall_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A wall clock that leads by 100 s.
    fn clock() -> KernelClock {
        let anchor = Instant::now();
        KernelClock { anchor, lead: 100 * SECOND, measured: 0, believed_from: i64::MIN }
    }

    fn look(monotonic: i64, lead: i64) -> ClockReading {
        ClockReading { monotonic, wall: monotonic + lead }
    }

    fn not_asked() -> ClockReading {
        panic!("the lead was measured again")
    }

    #[test]
    fn a_stamp_is_as_old_as_the_wall_clock_says() {
        let mut clock = clock();
        let (now, lead) = (5_000_000, 100 * SECOND);
        assert_eq!(clock.judge(now + lead - 3_000, look(now, lead), not_asked), Some(3_000));
        // A stamp from the future cannot be.
        assert_eq!(clock.judge(now + lead + 1, look(now, lead), not_asked), None);
    }

    #[test]
    fn a_stop_between_two_looks_moves_no_stamp() {
        let mut clock = clock();
        let lead = 100 * SECOND;
        // Stopped for 4 ms after the monotonic clock was read: the wall clock seems to lead by more.
        let stopped = look(5_000_000, lead + 4_000_000);
        let stamp = 5_000_000 + lead - 2_000;
        assert_eq!(clock.judge(stamp, stopped, || look(9_100_000, lead)), Some(2_000));
    }

    #[test]
    fn a_client_that_was_stopped_for_long_still_knows_when_bytes_came() {
        let mut clock = clock();
        let (now, lead) = (5 * SECOND, 100 * SECOND);
        let stamp = now + lead - 4 * SECOND;
        assert_eq!(clock.judge(stamp, look(now, lead), || look(now + 50, lead)), Some(4 * SECOND));
        // Unless the wall clock was set meanwhile, as where a virtual machine's own clock stopped too.
        let mut clock = self::clock();
        assert_eq!(clock.judge(stamp, look(now, lead + SECOND), || look(now + 50, lead + SECOND)), None);
    }

    #[test]
    fn no_stamp_from_before_the_wall_clock_was_set_is_believed() {
        for step in [700_000_000, -700_000_000, 3 * SECOND, -3 * SECOND] {
            let mut clock = clock();
            let (old, new) = (100 * SECOND, 100 * SECOND + step);
            let now = 500_000_000;
            assert_eq!(clock.judge(now - 2_000 + old, look(now, new), || look(now + 50, new)), None, "{step}");
            // Nor is one that still waited; the first after it is valid again.
            let later = now + 10_000;
            assert_eq!(clock.judge(now - 1_000 + old, look(later, new), not_asked), None, "{step}");
            assert_eq!(clock.judge(later - 500 + new, look(later, new), not_asked), Some(500), "{step}");
        }
    }

    #[test]
    fn the_lead_is_measured_again_every_second() {
        let mut clock = clock();
        let (lead, small) = (100 * SECOND, 100 * SECOND + 9_000);
        let early = RENEWAL - 1;
        assert_eq!(clock.judge(early + lead - 10_000, look(early, small), not_asked), Some(10_000));
        let late = RENEWAL;
        assert_eq!(clock.judge(late + small - 10_000, look(late, small), || look(late, small)), Some(10_000));
        assert_eq!(clock.lead, small);
    }

    #[test]
    fn real_clocks_agree_with_themselves() {
        let clock = RunClock::starting_in(Duration::ZERO);
        let mut kernel = KernelClock::default();
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let receipt = clock.receipt(&mut kernel, Some(stamp), Timestamp::ZERO);
        let delay = receipt.delay.unwrap();
        // A loose bound: a machine may stop for long, but no sleep is shorter than asked.
        assert!(delay >= Duration::from_millis(5) && delay < Duration::from_secs(1), "{delay:?}");
        assert_eq!(receipt.read.since(receipt.at()), delay);
        assert_eq!(clock.receipt(&mut kernel, None, Timestamp::ZERO).delay, None);
        // An answer does not come before its request has begun to leave.
        assert_eq!(clock.receipt(&mut kernel, Some(stamp), receipt.read).delay, None);
    }
}
