//! Error of this machine's wall clock, by what keeps it: NTP or PTP. This is the one file with unsafe code, since no
//! crate that is kept wraps the call.

use std::time::Duration;

/// Returns how wrong this machine's wall clock is at most. `None` where neither NTP nor PTP keeps it, or the
/// system does not say.
///
/// Source: `maxerror` of adjtimex(2). What keeps the clock sets it, and the kernel then adds 500 millionths of the time
/// since.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "adjtimex has no safe wrapper")]
pub(crate) fn clock_error() -> Option<Duration> {
    // SAFETY: `timex` is whole numbers, which may be zeros. With `modes` 0 the kernel changes nothing and fills in this
    // struct, which outlives the call; the kernel keeps no pointer to it.
    let (state, time) = unsafe {
        let mut time: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut time), time)
    };
    let is_kept = (0..libc::TIME_ERROR).contains(&state) && time.status & libc::STA_UNSYNC == 0;
    u64::try_from(time.maxerror).ok().filter(|_| is_kept).map(Duration::from_micros)
}

/// Returns `None`: this system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn clock_error() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_kept_is_wrong_by_less_than_the_limit_of_the_kernel() {
        // The kernel takes a clock for kept only below NTP_PHASE_LIMIT.
        assert!(clock_error().is_none_or(|error| error < Duration::from_secs(16)), "{:?}", clock_error());
    }
}
