//! CPU time and memory of this process, as the system counts them.

/// CPU time at one moment, user and system, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuTime {
    /// CPU time of the whole process.
    pub(super) process_ns: u64,
    /// CPU time of the calling thread.
    pub(super) thread_ns: u64,
}

impl CpuTime {
    /// The time used so far; `None` where the system does not report it.
    #[cfg(unix)]
    #[allow(clippy::unnecessary_wraps)] // Other systems have none to give.
    pub(super) fn now() -> Option<Self> {
        use rustix::time::{ClockId, clock_gettime};
        let used = |clock| nanos(clock_gettime(clock));
        Some(Self { process_ns: used(ClockId::ProcessCPUTime), thread_ns: used(ClockId::ThreadCPUTime) })
    }

    /// The time used so far; `None` where the system does not report it.
    #[cfg(not(unix))]
    pub(super) fn now() -> Option<Self> {
        None
    }
}

#[cfg(unix)]
fn nanos(time: rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The most memory that this process ever held, bytes: `VmHWM` of Linux, `None` elsewhere.
pub(super) fn peak_memory_bytes() -> Option<u64> {
    memory_of("VmHWM:", &std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The memory that this process holds now, bytes: `VmRSS` of Linux, `None` elsewhere.
pub(super) fn memory_bytes() -> Option<u64> {
    memory_of("VmRSS:", &std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Returns the TCP retransmits of this machine since it was started. They are those of its network namespace:
/// `RetransSegs` of `/proc/net/snmp` on Linux, `None` elsewhere.
pub(super) fn retransmits() -> Option<u64> {
    retransmits_of(&std::fs::read_to_string("/proc/net/snmp").ok()?)
}

/// Finds the value by its column. A line of names comes first, then a line of values behind the same word.
fn retransmits_of(snmp: &str) -> Option<u64> {
    let mut tcp = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let index = tcp.next()?.split_whitespace().position(|name| name == "RetransSegs")?;
    tcp.next()?.split_whitespace().nth(index)?.parse().ok()
}

/// A thread whose CPU time other threads may read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    #[cfg(target_os = "linux")]
    id: rustix::process::Pid,
}

impl Thread {
    /// The calling thread.
    pub(super) fn this() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            id: rustix::thread::gettid(),
        }
    }

    /// CPU time used so far, nanoseconds: the first field of Linux's `schedstat`, `None` elsewhere.
    #[cfg(target_os = "linux")]
    pub(super) fn cpu_ns(self) -> Option<u64> {
        let path = format!("/proc/self/task/{}/schedstat", self.id.as_raw_nonzero());
        std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
    }

    /// CPU time used so far; `None` where the system does not report it.
    #[cfg(not(target_os = "linux"))]
    #[allow(clippy::unused_self)] // No thread id elsewhere.
    pub(super) fn cpu_ns(self) -> Option<u64> {
        None
    }
}

/// The amount behind a name such as `VmHWM:`, in bytes.
fn memory_of(name: &str, status: &str) -> Option<u64> {
    let amount = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(memory_of("VmHWM:", status), Some(2 << 20));
        assert_eq!(memory_of("VmRSS:", status), Some(1 << 10));
        assert_eq!(memory_of("VmRSS:", "Name:\tx\n"), None);
        // No program of this size runs in a megabyte.
        #[cfg(target_os = "linux")]
        assert!(memory_bytes().unwrap() > 1 << 20 && peak_memory_bytes().is_none_or(|peak| peak > 1 << 20));
    }

    #[test]
    fn retransmits_are_found_by_their_name() {
        let snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\n\
                    Tcp: 1 900 17 2\nUdp: InDatagrams\nUdp: 3\n";
        assert_eq!(retransmits_of(snmp), Some(17));
        assert_eq!(retransmits_of("Ip: x\nIp: 1\n"), None);
        assert_eq!(retransmits_of("Tcp: OutSegs\nTcp: 1\n"), None);
        let of_system = std::fs::read_to_string("/proc/net/snmp").unwrap_or_default();
        assert_eq!(retransmits().is_some(), of_system.contains("RetransSegs"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_a_thread_can_be_asked_for_from_another() {
        let worked = std::thread::spawn(|| {
            let begin = CpuTime::now().unwrap().thread_ns;
            let mut work = 0_u64;
            while CpuTime::now().unwrap().thread_ns < begin + 20_000_000 {
                work = std::hint::black_box(work.wrapping_add(1));
            }
            let this = Thread::this();
            std::thread::spawn(move || this.cpu_ns()).join().unwrap().unwrap()
        });
        // The kernel updates it at its ticks, some milliseconds apart.
        assert!(worked.join().unwrap() > 5_000_000);
    }

    #[cfg(unix)]
    #[test]
    fn work_shows_in_both_times() {
        assert_eq!(nanos(rustix::time::Timespec { tv_sec: 2, tv_nsec: 5 }), 2_000_000_005);
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
