//! Keeps connections open between requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use tokio::task::coop::has_budget_remaining;
use tokio::time::Instant;

use super::connection::{PooledConnection, Readiness};
use super::socket::{Dialer, Peer};
use crate::engine::answer::DiagnosedFailure;
use crate::engine::dialect_traits::IdleConnections;

/// Age above which idle connections are not used. uvicorn and Node close theirs after 5 s.
const IDLE_LIMIT: Duration = Duration::from_secs(4);
/// Rest of a connection after an answer before it is used again. A server that closes after each answer without
/// announcing it needs a moment, and a request sent into the close is lost.
const REST: Duration = Duration::from_millis(50);
/// Time after an answer within which a closed connection was closed because of it. Its age is not the reason.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Ready connections kept over all addresses while requests come. With them a request rarely waits for one to open.
const RESERVE: usize = 4;
/// Connections opened concurrently by a warm-up.
const OPENED_TOGETHER: usize = 64;

/// The idle connections to one server.
pub(crate) struct Pool {
    pub(super) dialer: Dialer,
    idle: Mutex<IdleQueue>,
    /// Connections being opened for the reserve.
    opening: AtomicUsize,
    cost: IdleConnections,
    /// Connections kept open to each address, where that was said.
    per_host: Option<usize>,
    history: ReuseHistory,
}

/// The server's treatment of connections after answers, as seen so far.
#[derive(Default)]
struct ReuseHistory {
    /// A connection has carried a second answer.
    keeps: AtomicBool,
    /// A connection was closed right after its answer, unannounced.
    closes: AtomicBool,
    /// Connections that the server closed and no request has missed yet.
    lost: Mutex<Losses>,
}

/// Connections that are missing because the server closed them. They are soon forgotten: none of them would
/// be idle that long.
#[derive(Default)]
struct Losses {
    count: usize,
    last: Option<Instant>,
}

impl Losses {
    fn add(&mut self, now: Instant) {
        self.forget_old(now);
        self.count += 1;
        self.last = Some(now);
    }

    /// Takes one of them off; whether there was one.
    fn take(&mut self, now: Instant) -> bool {
        self.forget_old(now);
        let any = self.count > 0;
        self.count -= usize::from(any);
        any
    }

    fn forget_old(&mut self, now: Instant) {
        if self.last.is_some_and(|last| now.duration_since(last) >= IDLE_LIMIT) {
            *self = Self::default();
        }
    }
}

impl ReuseHistory {
    /// Returns whether connections may be used again. A server that has kept one does not close them all; one may be
    /// lost.
    fn allows_reuse(&self) -> bool {
        self.keeps.load(Ordering::Relaxed) || !self.closes.load(Ordering::Relaxed)
    }

    fn lost(&self) -> MutexGuard<'_, Losses> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the newest rested connection to an address first. Else it takes the newest of those opened ahead.
#[derive(Default)]
struct IdleQueue {
    /// Connections that have answered, oldest first.
    answered: Vec<Idle>,
    /// Connections opened ahead, oldest first: they need no rest.
    opened_ahead: Vec<Idle>,
}

struct Idle {
    connection: Box<PooledConnection>,
    since: Instant,
}

impl Pool {
    /// An empty pool; it stays empty where idle connections have a `cost`. It keeps so many open to each address, or as
    /// many as requests need.
    pub(crate) fn new(dialer: Dialer, cost: IdleConnections, per_host: Option<usize>) -> Self {
        let (idle, opening) = (Mutex::default(), AtomicUsize::new(0));
        Self { dialer, idle, opening, cost, per_host, history: ReuseHistory::default() }
    }

    /// Ends the turn of an address to which a request is to open a connection.
    pub(super) fn next_peer(&self) -> Option<Arc<Peer>> {
        self.dialer.addresses.next()
    }

    /// Opens a connection to `peer`, or to another address where that one fails.
    pub(super) async fn open(&self, peer: Option<Arc<Peer>>) -> Result<Box<PooledConnection>, DiagnosedFailure> {
        let begun = Instant::now();
        let (socket, peer) = self.dialer.open(peer).await?;
        Ok(Box::new(PooledConnection { socket, peer, opening: begun.elapsed(), answers: 0, tail: None }))
    }

    /// A ready connection to the address whose turn it is; keeps a few in reserve.
    pub(super) fn take(self: &Arc<Self>) -> Option<Box<PooledConnection>> {
        let now = Instant::now();
        let peer = self.dialer.addresses.current()?;
        let mut idle = self.idle();
        idle.close_older_than(IDLE_LIMIT, now);
        let taken = idle.take(&peer, now, &self.history);
        let usable = idle.usable(&peer, now);
        drop(idle);
        self.fill_reserve(peer, usable);
        if taken.is_some() {
            self.dialer.addresses.next();
        }
        taken
    }

    /// Notes that the server closed a connection, announced or not.
    pub(super) fn lost_one(&self) {
        self.history.lost().add(Instant::now());
    }

    /// Returns whether a request would have a ready connection but for the server's close.
    pub(super) fn misses_a_lost_one(&self) -> bool {
        self.cost == IdleConnections::Free && (self.history.lost().take(Instant::now()) || !self.history.allows_reuse())
    }

    /// Returns a connection once its answer is complete.
    pub(super) fn give_back(&self, mut connection: Box<PooledConnection>) {
        connection.answers += 1;
        if connection.answers > 1 {
            self.history.keeps.store(true, Ordering::Relaxed);
        }
        let fits = self.per_host.is_none_or(|most| connection.peer.peer.open() <= most);
        if self.cost == IdleConnections::Free && fits && self.history.allows_reuse() {
            self.keep(connection);
        }
    }

    fn keep(&self, connection: Box<PooledConnection>) {
        let idle = Idle { connection, since: Instant::now() };
        let mut lanes = self.idle();
        if idle.connection.answers > 0 { &mut lanes.answered } else { &mut lanes.opened_ahead }.push(idle);
    }

    /// Opens connections until `count` are idle, where that is allowed. Where some are to be kept to each address, it
    /// opens these. A failure is left to the request that will need the connection.
    pub(crate) async fn warm_up(&self, count: usize) {
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        *self.history.lost() = Losses::default();
        let missing = {
            let mut idle = self.idle();
            // Connections of an earlier run will soon be too old.
            idle.close_older_than(IDLE_LIMIT / 2, Instant::now());
            count.saturating_sub(idle.len())
        };
        let opened = futures::stream::iter(self.to_open(missing)).map(|peer| self.open(Some(peer)));
        let opened = opened.buffer_unordered(OPENED_TOGETHER);
        opened
            .for_each(|connection| {
                if let Ok(connection) = connection {
                    self.keep(connection);
                }
                std::future::ready(())
            })
            .await;
    }

    /// The addresses of the connections that a warm-up opens, in rounds over all of them.
    fn to_open(&self, missing: usize) -> Vec<Arc<Peer>> {
        let known = self.dialer.addresses.known();
        let Some(most) = self.per_host else { return known.iter().cycle().take(missing).cloned().collect() };
        (0..most).flat_map(|round| known.iter().filter(move |peer| peer.open() <= round)).cloned().collect()
    }

    fn fill_reserve(self: &Arc<Self>, peer: Arc<Peer>, usable: usize) {
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        let expected = usable + self.opening.load(Ordering::Relaxed);
        let room = self.per_host.map_or(RESERVE, |most| most.saturating_sub(peer.open()));
        let wanted = RESERVE.div_ceil(self.dialer.addresses.known().len().max(1)).min(expected + room);
        for _ in expected..wanted {
            self.opening.fetch_add(1, Ordering::Relaxed);
            let (pool, peer) = (Arc::clone(self), Arc::clone(&peer));
            tokio::spawn(async move {
                if let Ok(connection) = pool.open(Some(peer)).await {
                    pool.keep(connection);
                }
                pool.opening.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    fn idle(&self) -> MutexGuard<'_, IdleQueue> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleQueue {
    fn len(&self) -> usize {
        self.answered.len() + self.opened_ahead.len()
    }

    fn take(&mut self, to: &Arc<Peer>, now: Instant, history: &ReuseHistory) -> Option<Box<PooledConnection>> {
        let rested = self.rested(now);
        newest(&mut self.answered, rested, to, now, history)
            .or_else(|| newest(&mut self.opened_ahead, usize::MAX, to, now, history))
    }

    /// Number of connections to this address that a request can take, up to the reserve.
    fn usable(&self, to: &Arc<Peer>, now: Instant) -> usize {
        let all = self.answered[..self.rested(now)].iter().chain(&self.opened_ahead);
        all.filter(|idle| idle.connection.goes_to(to)).take(RESERVE).count()
    }

    /// Number of rested connections: the oldest ones.
    fn rested(&self, now: Instant) -> usize {
        self.answered.partition_point(|idle| now.duration_since(idle.since) >= REST)
    }

    fn close_older_than(&mut self, limit: Duration, now: Instant) {
        for idle in [&mut self.answered, &mut self.opened_ahead] {
            let stale = idle.partition_point(|idle| now.duration_since(idle.since) >= limit);
            idle.drain(..stale);
        }
    }
}

/// The newest ready one among the first `oldest` that goes to this address. One whose last answer is still closing is
/// skipped, not closed: its server is only slow.
fn newest(
    idle: &mut Vec<Idle>,
    oldest: usize,
    to: &Arc<Peer>,
    now: Instant,
    history: &ReuseHistory,
) -> Option<Box<PooledConnection>> {
    for index in (0..idle.len().min(oldest)).rev() {
        if !idle[index].connection.goes_to(to) {
            continue;
        }
        // Without budget tokio shows nothing of a socket, and a dead one would seem ready.
        if !has_budget_remaining() {
            return None;
        }
        match idle[index].connection.readiness() {
            Readiness::Ready => return Some(idle.remove(index).connection),
            Readiness::Closing => {}
            Readiness::Dead => {
                let dead = idle.remove(index);
                history.lost().add(Instant::now());
                if dead.connection.answers > 0 && now.duration_since(dead.since) < AT_ONCE {
                    history.closes.store(true, Ordering::Relaxed);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_missed_once_and_not_for_long() {
        let begin = Instant::now();
        let mut lost = Losses::default();
        assert!(!lost.take(begin));
        lost.add(begin);
        lost.add(begin);
        assert!(lost.take(begin) && lost.take(begin + IDLE_LIMIT / 2) && !lost.take(begin));
        (0..100).for_each(|_| lost.add(begin));
        assert!(!lost.take(begin + IDLE_LIMIT));
        lost.add(begin + IDLE_LIMIT);
        assert!(lost.take(begin + IDLE_LIMIT) && !lost.take(begin + IDLE_LIMIT));
    }
}
