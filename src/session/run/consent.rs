//! Whether a server that may be somebody else's gets a load: the user confirms it in a terminal, or with `--yes`.

use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::engine::BaseUrl;
use crate::session::console::{Printer, Stop};
use crate::session::settings::{RunSettings, ServerAddress};
use crate::units::{count, three_digits};
use crate::workload::WorkloadSpec;

/// What any server gets unasked.
const FEW_REQUESTS: f64 = 1_000.0;
const SLOW_PER_S: f64 = 10.0;

/// Whether the user has confirmed: a table of experiments asks once.
static CONFIRMED: AtomicBool = AtomicBool::new(false);

/// The load that is planned against a server.
#[derive(Clone, Copy, Debug, PartialEq)]
struct IntendedLoad {
    /// Requests per second at the peak; of users one each.
    per_s: f64,
    /// Requests of all runs; absent where their number follows from what they find.
    requests: Option<f64>,
}

impl IntendedLoad {
    fn of(spec: &WorkloadSpec, runs: Option<u64>) -> Self {
        let (mean_per_s, per_s) = match spec.arrival.users() {
            Some(users) => (users as f64, users as f64),
            None => (spec.arrival.mean_rate_per_s(), spec.arrival.peak_rate_per_s()),
        };
        let turns = spec.mean_turns();
        let of_run = spec.requests.map_or(mean_per_s * turns * spec.horizon_s, |requests| requests as f64);
        Self { per_s: per_s * turns, requests: runs.map(|runs| runs as f64 * of_run) }
    }

    fn is_small(self) -> bool {
        self.per_s <= SLOW_PER_S && self.requests.is_some_and(|requests| requests <= FEW_REQUESTS)
    }

    fn in_words(self) -> String {
        let rate = three_digits(self.per_s);
        match self.requests {
            Some(requests) => format!("about {} requests at up to {rate}/s", count(requests.ceil() as u64)),
            None => format!("several runs at {rate} requests/s or more"),
        }
    }
}

/// Whether an address is this machine's or in a private network: RFC 1918, link-local, unique local, and that of
/// carriers (RFC 6598).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let of_carrier = first == 100 && (64..128).contains(&second);
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4 == Ipv4Addr::UNSPECIFIED
                || of_carrier
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(v4.into()),
            None => {
                v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local()
            }
        },
    }
}

/// The first address of a server that is not private; `None` too where its name has none, which connecting reports.
fn public_address(url: &BaseUrl) -> Option<IpAddr> {
    let mut addresses = (url.host(), url.port()).to_socket_addrs().ok()?.map(|address| address.ip());
    addresses.find(|address| !is_private(*address))
}

/// Asks the user before a public server gets more than little, unless it was confirmed; without a terminal that is
/// refused.
pub(super) fn ask(settings: &RunSettings, spec: &WorkloadSpec, printer: Printer) -> Result<(), Stop> {
    let load = IntendedLoad::of(spec, settings.runs);
    if settings.requests.confirmed || load.is_small() || CONFIRMED.load(Relaxed) {
        return Ok(());
    }
    let ServerAddress::At(url) = &settings.server.address else { return Ok(()) };
    let Some(address) = public_address(url) else { return Ok(()) };
    let what = format!(
        "{url} ({address}) is neither on this machine nor in a private network, and {} are planned",
        load.in_words()
    );
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Stop::usage(format!(
            "{what}\nhint: if you may load this server, repeat the command with --yes; up to {SLOW_PER_S} requests/s and \
             {} requests need no confirmation",
            count(FEW_REQUESTS as u64)
        )));
    }
    printer.words(&format!("{what}. Send them? [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    if read.is_err() || !matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Err(Stop::usage("nothing was sent, because it was not confirmed"));
    }
    CONFIRMED.store(true, Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Overrides;

    #[test]
    fn private_addresses_are_known() {
        let private = |text: &str| is_private(text.parse().unwrap());
        for own in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(private(own), "{own}");
        }
        for public in [
            "203.0.113.1",
            "8.8.8.8",
            "172.32.0.1",
            "172.15.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(!private(public), "{public}");
        }
    }

    #[test]
    fn little_load_needs_no_confirmation() {
        let small = |rate_per_s: f64, seconds: f64, runs: Option<u64>| {
            let overrides = Overrides {
                rate_per_s: Some(rate_per_s),
                horizon_s: Some(seconds),
                warmup_s: Some(0.0),
                ..Overrides::default()
            };
            let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
            IntendedLoad::of(&spec, runs).is_small()
        };
        assert!(small(10.0, 100.0, Some(1)));
        assert!(!small(10.1, 10.0, Some(1)), "too fast");
        assert!(!small(10.0, 101.0, Some(1)), "too many");
        assert!(!small(10.0, 50.0, Some(3)), "too many in all");
        assert!(!small(1.0, 10.0, None), "nobody knows how many");
        let users = |users| {
            let overrides = Overrides { users: Some(users), horizon_s: Some(20.0), ..Overrides::default() };
            let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
            IntendedLoad::of(&spec, Some(1)).is_small()
        };
        assert!(users(2) && !users(11));
    }
}
