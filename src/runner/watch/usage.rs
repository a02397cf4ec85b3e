//! Processor time and memory that this process used, as the system counts them.

/// Processor time at one moment, user and system, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuTime {
    /// Of the whole process.
    pub(super) process_ns: u64,
    /// Of the thread that asked.
    pub(super) thread_ns: u64,
}

impl CpuTime {
    /// The time used so far; `None` where the system does not tell.
    #[cfg(unix)]
    #[allow(clippy::unnecessary_wraps)] // Other systems have none to give.
    pub(super) fn now() -> Option<Self> {
        use rustix::time::{ClockId, clock_gettime};
        let nanos = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        Some(Self { process_ns: nanos(ClockId::ProcessCPUTime), thread_ns: nanos(ClockId::ThreadCPUTime) })
    }

    /// The time used so far; `None` where the system does not tell.
    #[cfg(not(unix))]
    pub(super) fn now() -> Option<Self> {
        None
    }
}

/// The most memory that this process ever held, bytes: `VmHWM` of Linux, `None` elsewhere.
pub(super) fn peak_memory_bytes() -> Option<u64> {
    peak_of(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn peak_of(status: &str) -> Option<u64> {
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_bytes() {
        assert_eq!(
            peak_of("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(peak_of("Name:\tx\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn work_shows_in_both_times() {
        let before = CpuTime::now().unwrap();
        let mut after = before;
        let mut work = 0_u64;
        // A real machine: loosely, some work is seen before ten billion rounds of it.
        for round in 0..10_000_000_000_u64 {
            work = std::hint::black_box(work.wrapping_add(round));
            if round.is_multiple_of(1 << 20) {
                after = CpuTime::now().unwrap();
                if after.thread_ns > before.thread_ns + 1_000_000 {
                    break;
                }
            }
        }
        assert!(after.thread_ns > before.thread_ns + 1_000_000);
        assert!(after.process_ns > before.process_ns);
    }
}
