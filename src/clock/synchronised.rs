//! Synchronisation of this machine's wall clock by NTP or PTP. This is the one file with unsafe code, since no
//! well-kept crate wraps the call.

use std::time::Duration;

/// State of this machine's wall clock beside true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Synchronisation {
    /// Nothing synchronises it.
    Missing,
    /// NTP or PTP does. Its error is at most this, where what synchronises it says so.
    Within(Option<Duration>),
}

/// Returns what synchronises this machine's wall clock. `None` where the system does not say.
///
/// Source: adjtimex(2). `maxerror` bounds the error where chrony or ntpd set it beside an estimate, `esterror`.
/// systemd-timesyncd sets both to 0, and phc2sys `maxerror` alone: these know no bound.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "adjtimex has no safe wrapper")]
pub(crate) fn synchronisation() -> Option<Synchronisation> {
    // SAFETY: `timex` is whole numbers, which may be zeros. With `modes` 0 the kernel changes nothing and fills in this
    // struct, which outlives the call; the kernel keeps no pointer to it.
    let (state, time) = unsafe {
        let mut time: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut time), time)
    };
    let is_synchronised = state != libc::TIME_ERROR && time.status & libc::STA_UNSYNC == 0;
    (state >= 0).then(|| if is_synchronised { within(time.esterror, time.maxerror) } else { Synchronisation::Missing })
}

/// A synchronised clock, by these errors in microseconds.
#[cfg(target_os = "linux")]
fn within(estimated: libc::c_long, most: libc::c_long) -> Synchronisation {
    let bound = u64::try_from(most).ok().filter(|_| (1..=most).contains(&estimated));
    Synchronisation::Within(bound.map(Duration::from_micros))
}

/// Returns `None`: this system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn synchronisation() -> Option<Synchronisation> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_as_wrong_as_what_synchronises_it_says() {
        let bound = |micros| Synchronisation::Within(Some(Duration::from_micros(micros)));
        // By chrony; by systemd-timesyncd; by phc2sys, which leaves the kernel's first estimate.
        let said = [within(120, 2_500), within(0, 0), within(16_000_000, 0), within(16_000_000, 500)];
        let unknown = Synchronisation::Within(None);
        assert_eq!(said, [bound(2_500), unknown, unknown, unknown]);
        assert!(!cfg!(target_os = "linux") || synchronisation().is_some());
    }
}
