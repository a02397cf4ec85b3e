//! How many connections this machine can hold open.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::units::{count, hexadecimal};

/// Files that a run needs beside its connections. They are the log, the control connections, and the runtime's own.
const OTHER_FILES: u64 = 64;

/// Time for which the system holds the port of a connection that it closed (`TIME_WAIT`).
const HELD: Duration = Duration::from_secs(60);

/// How many connections to a server this process can hold open. `None`: the system does not report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// Files that this process may have open; a connection is one.
    pub files: Option<u64>,
    /// Local ports; each connection to the same address needs its own.
    pub ports: Option<u64>,
    /// Addresses of the server: so many connections can have the same port.
    pub addresses: u64,
    /// Ports that are held before the run. Open connections to the server hold them, and those closed within a minute.
    pub held: u64,
    /// Time for which a request may hold a port after its answer. It is none where all connections are kept.
    pub held_on: Duration,
}

impl ConnectionLimits {
    /// Returns the limits of this process for connections to these addresses. All are `kept` between requests or not.
    /// The limit on files is raised as far as the system allows.
    pub(crate) fn raised(peers: &[SocketAddr], kept: bool) -> Self {
        let reuses = closed_are_reused(peers);
        Self {
            files: rlimit::increase_nofile_limit(u64::MAX).ok(),
            // A Unix socket takes none.
            ports: local_ports().filter(|_| !peers.is_empty()),
            addresses: peers.len() as u64,
            held: ["/proc/net/tcp", "/proc/net/tcp6"].iter().map(|table| held_in(table, peers, !reuses)).sum(),
            held_on: if kept || reuses { Duration::ZERO } else { HELD },
        }
    }

    /// The problem and its hint when there cannot be `connections` at a time. So many requests come a second, and each
    /// connection takes `files_each` files: two where the server is in this process too.
    pub(crate) fn shortage(&self, connections: u64, per_s: f64, files_each: u64) -> Option<String> {
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
        let closed = (per_s * self.held_on.as_secs_f64()).ceil() as u64;
        let all = self.ports?.saturating_mul(self.addresses);
        let free = all.saturating_sub(self.held);
        if free >= connections.saturating_add(closed) {
            return None;
        }
        let place = match self.addresses {
            1 => "one server".to_owned(),
            several => format!("the {several} addresses of the server"),
        };
        let beside = match closed {
            0 => "need as many local ports".to_owned(),
            closed => format!("and those closed within a minute need {} local ports", count(connections + closed)),
        };
        let taken = match all - free {
            0 => String::new(),
            held => format!(" ({} more are held already, open or closed within a minute)", count(held)),
        };
        Some(format!(
            "{} connections at a time {beside}, and this machine has {} for {place}{taken}; widen the range with \
             `sysctl net.ipv4.ip_local_port_range='1024 65535'`, or send from several machines",
            count(connections),
            count(free)
        ))
    }
}

/// Whether the system reuses the ports of closed connections to these addresses at once.
fn closed_are_reused(peers: &[SocketAddr]) -> bool {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or_default();
    match setting.trim() {
        "1" => true,
        "2" => peers.iter().all(|peer| peer.ip().to_canonical().is_loopback()),
        _ => false,
    }
}

/// Number of sockets in a table of the system that go to these addresses.
fn held_in(table: &str, peers: &[SocketAddr], with_closed: bool) -> u64 {
    let peers: Vec<String> = peers.iter().map(in_table).collect();
    let table = std::fs::read_to_string(table).unwrap_or_default();
    let goes_to_one = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        let is_one = fields.next().is_some_and(|to| peers.iter().any(|peer| peer == to));
        is_one && (with_closed || fields.next() != Some(CLOSED))
    };
    table.lines().filter(goes_to_one).count() as u64
}

/// `TIME_WAIT` in a table of the system.
const CLOSED: &str = "06";

/// An address as the system's table has it. Its words of four bytes are in the order of this machine, in hexadecimal.
fn in_table(peer: &SocketAddr) -> String {
    let bytes = match peer.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let address = hexadecimal(&words.flat_map(u32::to_be_bytes).collect::<Vec<_>>());
    format!("{address}:{:04x}", peer.port()).to_uppercase()
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

    const LIMITS: ConnectionLimits =
        ConnectionLimits { files: None, ports: Some(28_232), addresses: 1, held: 0, held_on: Duration::ZERO };

    #[test]
    fn what_is_short_is_named_with_its_cure() {
        let limits = ConnectionLimits { files: Some(20_000), ..LIMITS };
        assert_eq!(limits.shortage(19_936, 0.0, 1), None);
        let files = limits.shortage(19_937, 0.0, 1).unwrap();
        assert!(files.contains("may have 20,000") && files.contains("`ulimit -n 20001`"), "{files}");
        assert!(limits.shortage(10_000, 0.0, 2).unwrap().contains("need 20,064 open files"));
        assert_eq!(LIMITS.shortage(28_232, 1e6, 2), None, "connections are kept");
        let ports = LIMITS.shortage(28_233, 1.0, 1).unwrap();
        assert!(ports.contains("has 28,232 for one server;") && ports.contains("ip_local_port_range"), "{ports}");
        assert_eq!(ConnectionLimits { ports: None, ..LIMITS }.shortage(u64::MAX, 1e6, 2), None);
    }

    #[test]
    fn ports_are_counted_for_each_address_and_without_those_that_are_held() {
        let three = ConnectionLimits { addresses: 3, ..LIMITS };
        assert_eq!(three.shortage(3 * 28_232, 0.0, 1), None);
        let held = ConnectionLimits { held: 10_000, ..three };
        let short = held.shortage(3 * 28_232, 0.0, 1).unwrap();
        assert!(short.contains("has 74,696 for the 3 addresses of the server (10,000 more are held"), "{short}");
        let closing = ConnectionLimits { held_on: HELD, ..LIMITS };
        assert_eq!(closing.shortage(232, 466.0, 1), None);
        let short = closing.shortage(232, 500.0, 1).unwrap();
        assert!(short.contains("and those closed within a minute need 30,232 local ports"), "{short}");
    }

    #[test]
    fn sockets_are_found_in_the_tables_of_the_system() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let _open: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(server).unwrap()).collect();
        assert_eq!(ConnectionLimits::raised(&[server], true).held, 3);
        assert_eq!(
            ConnectionLimits::raised(&[], true),
            ConnectionLimits { ports: None, addresses: 0, held: 0, ..ConnectionLimits::raised(&[server], true) }
        );
        let known = [("127.0.0.1:8000", "0100007F:1F40"), ("[::1]:80", "00000000000000000000000001000000:0050")];
        for (address, written) in known.into_iter().filter(|_| cfg!(target_endian = "little")) {
            assert_eq!(in_table(&address.parse().unwrap()), written);
        }
        let table = tempfile::NamedTempFile::new().unwrap();
        let line = |to, state| format!("0: 0100007F:1F90 {to}:1F40 {state} 00000000:00000000\n");
        let lines = [("0100007F", "01"), ("0100007F", "06"), ("0200007F", "06")].map(|(to, state)| line(to, state));
        std::fs::write(&table, lines.concat()).unwrap();
        let held =
            |with_closed| held_in(table.path().to_str().unwrap(), &["127.0.0.1:8000".parse().unwrap()], with_closed);
        assert_eq!((held(true), held(false)), (2, 1));
    }

    #[test]
    fn reserved_ports_are_not_counted() {
        assert_eq!(ports_of("32768\t60999\n", "\n"), Some(28_232));
        assert_eq!(ports_of("32768\t60999\n", "8080,40000-40009,60999\n"), Some(28_221));
        assert_eq!(ports_of("what", ""), None);
    }
}
