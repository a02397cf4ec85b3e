//! The addresses of a server, each of which gets its turn.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::start_thread;
use crate::engine::address::NameLookup;

/// Time between two looks at a name's addresses.
const LOOK: Duration = Duration::from_secs(1);
/// Most doublings of the time for which an address that failed is left alone.
const DOUBLINGS: u32 = 6;

/// Looks up the addresses of a host on a thread of its own. The runtime panics where it has none.
pub(crate) async fn addresses_of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let (host, (found, finding)) = (host.to_owned(), oneshot::channel());
    start_thread("name lookup", move || {
        let _ = found.send(look_up(&host, port));
    })?;
    finding.await.map_err(io::Error::other)?
}

/// Looks up the addresses of a host, as often as its name has them.
fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    #[cfg(test)]
    if let Some(addresses) = tests::HOSTS.lock().unwrap().get(host) {
        return Ok(addresses.iter().map(|address| (*address, port).into()).collect());
    }
    (host, port).to_socket_addrs().map(Iterator::collect)
}

/// An address of a server, and what connections to it have shown.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Connections to it that are open.
    open: AtomicUsize,
    /// How often it failed since a request last connected to it.
    failures: AtomicU32,
    /// Whether requests leave it out until a look finds it there again.
    rests: AtomicBool,
    /// Whether the name does not have it any more.
    is_gone: AtomicBool,
}

impl Peer {
    fn new(address: SocketAddr) -> Arc<Self> {
        let (open, failures) = (AtomicUsize::new(0), AtomicU32::new(0));
        Arc::new(Self { address, open, failures, rests: AtomicBool::default(), is_gone: AtomicBool::default() })
    }

    /// How many connections to it are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Notes that it refused a connection, or was silent while another answered.
    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Relaxed);
        self.rests.store(true, Relaxed);
    }

    /// Whether requests go to it.
    pub(crate) fn works(&self) -> bool {
        !self.rests.load(Relaxed)
    }

    /// Whether the name does not have it any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Relaxed)
    }

    /// Whether the look of this number tries it again. Each does after one failure, each second one after two, and so
    /// on.
    fn is_due(&self, look: u32) -> bool {
        !self.works() && look.is_multiple_of(1 << (self.failures.load(Relaxed).clamp(1, DOUBLINGS + 1) - 1))
    }
}

/// The address that an open connection goes to.
#[derive(Debug)]
pub(crate) struct PeerInUse {
    pub(crate) peer: Arc<Peer>,
    /// Its place among those that connections went to, from 1. It is absent where the server can have only one.
    pub(crate) place: Option<NonZeroU16>,
}

impl Drop for PeerInUse {
    fn drop(&mut self) {
        self.peer.open.fetch_sub(1, Relaxed);
    }
}

/// The addresses of a server. Connections go to them in turn, and requests too: how soon an address answers changes
/// nothing about how many it gets. One that fails is left out and tried again ever more rarely, beside the load.
#[derive(Debug)]
pub(crate) struct Addresses {
    known: Mutex<Arc<[Arc<Peer>]>>,
    /// Addresses that connections went to, in the order in which they were first.
    used: Mutex<Vec<SocketAddr>>,
    /// Requests so far.
    turn: AtomicUsize,
    /// Whether there may ever be a second address.
    are_several: bool,
}

impl Addresses {
    /// The `first` addresses of a host. Where there may be more, a thread looks after them from now on.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub(super) fn watched(host: &str, first: Vec<SocketAddr>, lookup: NameLookup) -> io::Result<Arc<Self>> {
        let Some(port) = first.first().map(SocketAddr::port) else { return Ok(Self::new(first, false)) };
        // An address that is written as a number stays what it is.
        let again = lookup == NameLookup::Each && host.parse::<IpAddr>().is_err();
        let addresses = Self::new(first, again);
        if addresses.are_several {
            let (watched, host) = (Arc::downgrade(&addresses), host.to_owned());
            start_thread("addresses", move || {
                for number in 1_u32.. {
                    sleep(LOOK);
                    let Some(addresses) = watched.upgrade() else { return };
                    // Where the name has no address for a while, requests go to those it had.
                    let found = again.then(|| look_up(&host, port).ok()).flatten();
                    addresses.look(number, &found.unwrap_or_default());
                }
            })?;
        }
        Ok(addresses)
    }

    /// Addresses of which these are the `first`.
    pub(super) fn new(first: Vec<SocketAddr>, may_grow: bool) -> Arc<Self> {
        let mut known: Vec<Arc<Peer>> = Vec::new();
        for address in first {
            if known.iter().all(|peer| peer.address != address) {
                known.push(Peer::new(address));
            }
        }
        let are_several = may_grow || known.len() > 1;
        let (known, used, turn) = (Mutex::new(known.into()), Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { known, used, turn, are_several })
    }

    /// All of them that the name has now.
    pub(crate) fn known(&self) -> Arc<[Arc<Peer>]> {
        Arc::clone(&lock(&self.known))
    }

    /// Addresses that connections went to, in the order of [`PeerInUse::place`]. There is none where there can be only
    /// one.
    pub(crate) fn used(&self) -> Vec<String> {
        lock(&self.used).iter().map(ToString::to_string).collect()
    }

    /// Takes a turn, and returns the address whose turn it is. It is one that works, if any does.
    pub(crate) fn next(&self) -> Option<Arc<Peer>> {
        self.at(self.turn.fetch_add(1, Relaxed))
    }

    /// Returns the address of this turn. Where none works, all are tried.
    fn at(&self, turn: usize) -> Option<Arc<Peer>> {
        let known = self.known();
        let working = || known.iter().filter(|peer| peer.works());
        match working().count() {
            0 => known.get(turn % known.len().max(1)).cloned(),
            count => working().nth(turn % count).cloned(),
        }
    }

    /// Order of the tries of a connection: `first`, others that work, those that failed.
    pub(super) fn from(&self, first: &Arc<Peer>) -> Vec<Arc<Peer>> {
        let known = self.known();
        let at = known.iter().position(|peer| Arc::ptr_eq(peer, first)).unwrap_or_default();
        let others = (0..known.len()).map(|turn| &known[(at + turn) % known.len()]);
        let mut order = vec![Arc::clone(first)];
        order.extend(others.filter(|peer| !Arc::ptr_eq(peer, first)).cloned());
        order[1..].sort_by_key(|peer| !peer.works());
        order
    }

    /// Notes that a request connected to `peer`.
    pub(super) fn connected(&self, peer: Arc<Peer>) -> PeerInUse {
        peer.open.fetch_add(1, Relaxed);
        peer.failures.store(0, Relaxed);
        peer.rests.store(false, Relaxed);
        let place = self.are_several.then(|| {
            let mut used = lock(&self.used);
            if !used.contains(&peer.address) {
                used.push(peer.address);
            }
            used.iter().position(|address| *address == peer.address)
        });
        PeerInUse { peer, place: place.flatten().and_then(|place| NonZeroU16::new(place as u16 + 1)) }
    }

    /// Takes the addresses that a look `found`, and tries those again that are due.
    fn look(&self, number: u32, found: &[SocketAddr]) {
        if !found.is_empty() {
            let known = self.known();
            let (kept, gone): (Vec<_>, Vec<_>) = known.iter().cloned().partition(|peer| found.contains(&peer.address));
            for peer in gone {
                peer.is_gone.store(true, Relaxed);
            }
            let is_new = |address: &&SocketAddr| known.iter().all(|peer| peer.address != **address);
            let now: Vec<_> =
                kept.into_iter().chain(found.iter().filter(is_new).map(|address| Peer::new(*address))).collect();
            *lock(&self.known) = now.into();
        }
        for peer in self.known().iter().filter(|peer| peer.is_due(number)) {
            match TcpStream::connect_timeout(&peer.address, LOOK) {
                Ok(_) => peer.rests.store(false, Relaxed),
                Err(_) => peer.failed(),
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Names that tests give addresses to.
    pub(crate) static HOSTS: Mutex<BTreeMap<String, Vec<IpAddr>>> = Mutex::new(BTreeMap::new());

    fn address(last: u8) -> SocketAddr {
        ([127, 0, 0, last], 9).into()
    }

    fn turns(addresses: &Addresses, count: usize) -> Vec<u8> {
        let last = |peer: Arc<Peer>| match peer.address {
            SocketAddr::V4(address) => address.ip().octets()[3],
            SocketAddr::V6(_) => 0,
        };
        (0..count).map(|_| last(addresses.next().unwrap())).collect()
    }

    #[test]
    fn the_turns_of_an_address_that_failed_go_to_all_others_alike() {
        let all = Addresses::new((1..=4).map(address).collect(), false);
        assert_eq!(turns(&all, 6), [1, 2, 3, 4, 1, 2]);
        all.known()[1].failed();
        let mut six = turns(&all, 6);
        six.sort_unstable();
        assert_eq!(six, [1, 1, 3, 3, 4, 4]);
        all.known().iter().for_each(|peer| peer.failed());
        let mut four = turns(&all, 4);
        four.sort_unstable();
        assert_eq!(four, [1, 2, 3, 4], "where none works, each is tried");
        let order: Vec<_> = all.from(&all.known()[2]).iter().map(|peer| peer.address).collect();
        assert_eq!(order, [3, 4, 1, 2].map(address));
    }

    #[test]
    fn an_address_that_fails_on_is_tried_ever_more_rarely() {
        let peer = Peer::new(address(1));
        let due = |peer: &Peer| (1..=128).filter(|look| peer.is_due(*look)).count();
        assert_eq!(due(&peer), 0, "it works");
        let after = |failures: usize| (0..failures).map(|_| (peer.failed(), due(&peer)).1).collect::<Vec<_>>();
        assert_eq!(after(9), [128, 64, 32, 16, 8, 4, 2, 2, 2]);
    }

    #[test]
    fn new_addresses_get_turns_and_those_that_are_gone_get_none() {
        let all = Addresses::new(vec![address(1), address(1), address(2)], true);
        assert_eq!(all.known().len(), 2);
        let first = all.connected(all.next().unwrap());
        all.look(1, &[address(3), address(2)]);
        assert!(!turns(&all, 4).contains(&1));
        let third = all.connected(all.known()[1].clone());
        assert_eq!([&first, &third].map(|used| used.place), [NonZeroU16::new(1), NonZeroU16::new(2)]);
        all.look(2, &[address(1)]);
        let again = all.connected(all.next().unwrap());
        assert_eq!(
            (again.place, all.used()),
            (NonZeroU16::new(1), vec!["127.0.0.1:9".to_owned(), "127.0.0.3:9".to_owned()])
        );
        all.look(3, &[]);
        assert_eq!(all.known().len(), 1, "no answer is no news");
    }

    #[test]
    fn an_address_that_is_back_gets_its_turns_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Addresses::new(vec![listener.local_addr().unwrap(), address(2)], false);
        all.known().iter().for_each(|peer| peer.failed());
        all.look(1, &[]);
        let works: Vec<_> = all.known().iter().map(|peer| peer.works()).collect();
        assert_eq!(works, [true, false]);
    }
}
