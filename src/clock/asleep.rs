//! How long this machine has slept: the clock that counts its sleep is ahead of the one that does not.

/// Readings of which the tightest is used.
#[cfg(target_os = "linux")]
const TRIES: u32 = 5;

/// Returns how long this machine has been suspended since it was started, in nanoseconds. That is exact within the time
/// that reading takes: it may be a little below 0. `None` where the system does not report it.
#[cfg(target_os = "linux")]
pub(crate) fn asleep() -> Option<i128> {
    use rustix::time::{ClockId, clock_gettime};
    let now = |clock| {
        let time = clock_gettime(clock);
        i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
    };
    let readings = (0..TRIES).map(|_| {
        let before = now(ClockId::Monotonic);
        let since_start = now(ClockId::Boottime);
        (now(ClockId::Monotonic) - before, since_start - before)
    });
    let (_, ahead) = readings.min_by_key(|(width, _)| *width)?;
    Some(ahead)
}

/// Returns how long this machine has been suspended since it was started. It is `None` where the system does not report
/// it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn asleep() -> Option<i128> {
    None
}
