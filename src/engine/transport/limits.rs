//! How many connections this machine can hold open.

use crate::units::count;

/// Files that a run needs beside its connections. They are the log, the control connections, and the runtime's own.
const OTHER_FILES: u64 = 64;

/// How many connections to one server this process can hold open. `None`: the system does not report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// Files that this process may have open; a connection is one.
    pub files: Option<u64>,
    /// Local ports for connections; each connection to the same address needs its own.
    pub ports: Option<u64>,
}

impl ConnectionLimits {
    /// Returns the limits of this process. The limit on files is raised as far as the system allows.
    pub(crate) fn raised() -> Self {
        Self { files: rlimit::increase_nofile_limit(u64::MAX).ok(), ports: local_ports() }
    }

    /// The problem and its hint when there cannot be `connections` at a time. Each takes `files_each` files:
    /// two where the server is in this process too.
    pub(crate) fn shortage(&self, connections: u64, files_each: u64) -> Option<String> {
        let needed = connections.saturating_mul(files_each).saturating_add(OTHER_FILES);
        if let Some(files) = self.files.filter(|&files| files < needed) {
            return Some(format!(
                "{} connections at a time need {} open files, and this process may have {}; raise the limit with \
                 `ulimit -n {needed}`",
                count(connections),
                count(needed),
                count(files)
            ));
        }
        let ports = self.ports.filter(|&ports| ports < connections)?;
        Some(format!(
            "{} connections at a time need as many local ports, and this machine has {} for one server; widen the \
             range with `sysctl net.ipv4.ip_local_port_range='1024 65535'`, or send from several machines",
            count(connections),
            count(ports)
        ))
    }
}

/// Number of ports that the system chooses from, without reserved ones.
fn local_ports() -> Option<u64> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let reserved = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
    ports_of(&range, &reserved)
}

fn ports_of(range: &str, reserved: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    let taken = reserved.trim().split(',').filter_map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u64>().ok()?.max(first), to.parse::<u64>().ok()?.min(last));
        Some((to + 1).saturating_sub(from))
    });
    Some((last + 1).saturating_sub(first).saturating_sub(taken.sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_named_with_its_cure() {
        let limits = ConnectionLimits { files: Some(20_000), ports: Some(28_232) };
        assert_eq!(limits.shortage(19_936, 1), None);
        let files = limits.shortage(19_937, 1).unwrap();
        assert!(files.contains("may have 20,000") && files.contains("`ulimit -n 20001`"), "{files}");
        assert!(limits.shortage(10_000, 2).unwrap().contains("need 20,064 open files"));
        let limits = ConnectionLimits { files: Some(1 << 20), ..limits };
        assert_eq!(limits.shortage(28_232, 2), None);
        let ports = limits.shortage(28_233, 1).unwrap();
        assert!(ports.contains("has 28,232 for one server") && ports.contains("ip_local_port_range"), "{ports}");
        assert_eq!(ConnectionLimits { files: None, ports: None }.shortage(u64::MAX, 2), None);
    }

    #[test]
    fn reserved_ports_are_not_counted() {
        assert_eq!(ports_of("32768\t60999\n", "\n"), Some(28_232));
        assert_eq!(ports_of("32768\t60999\n", "8080,40000-40009,60999\n"), Some(28_221));
        assert_eq!(ports_of("what", ""), None);
    }
}
