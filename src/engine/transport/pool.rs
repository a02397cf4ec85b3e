//! Keeps connections open between requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::connection::{Carrier, PooledConnection};
use super::history::{IDLE_LIMIT, ReuseHistory};
use super::http2::Lanes;
use super::idle::{Idle, IdleQueue, RESERVE};
use super::socket::{Dialer, Opening, Peer};
use super::spare::Try;
use crate::engine::answer::DiagnosedFailure;
use crate::engine::dialect_traits::IdleConnections;
use crate::record::Http2Facts;

/// Connections opened concurrently by a warm-up.
const OPENED_TOGETHER: usize = 64;

/// The idle connections to one server.
pub(crate) struct Pool {
    pub(super) dialer: Arc<Dialer>,
    /// The runtime in which connections live.
    runtime: Handle,
    /// Connections of HTTP/2, which are shared. Where it is spoken, none is ever idle.
    lanes: Option<Lanes>,
    idle: Mutex<IdleQueue>,
    /// Connections being opened for the reserve.
    opening: AtomicUsize,
    cost: IdleConnections,
    /// Connections kept open to each address, where that was said.
    per_host: Option<usize>,
    history: Arc<ReuseHistory>,
    /// Whether others keep the connections to the server.
    is_retired: AtomicBool,
    /// The pool of the requests before the run. Its connections show first how the server treats them.
    before: Option<Arc<Self>>,
}

impl Pool {
    /// An empty pool of the current runtime. It stays empty where idle connections have a `cost`. It keeps so many open
    /// to each address, or as many as requests need. With `http2` they are shared.
    pub(crate) fn new(
        dialer: Dialer,
        cost: IdleConnections,
        per_host: Option<usize>,
        http2: Option<Http2Facts>,
    ) -> Self {
        let dialer = Arc::new(dialer);
        let lanes = http2.map(|http2| Lanes::new(Arc::clone(&dialer), http2, per_host));
        Self::empty(dialer, lanes, cost, per_host, Arc::default())
    }

    /// An empty pool of the current runtime, of connections to the same server.
    pub(super) fn of_this_runtime(self: &Arc<Self>) -> Self {
        // Those of this pool would count among the connections that are kept to each address.
        if self.per_host.is_some() {
            self.is_retired.store(true, Ordering::Relaxed);
            *self.idle() = IdleQueue::default();
        }
        let (dialer, history) = (Arc::clone(&self.dialer), Arc::clone(&self.history));
        let lanes = self.lanes.as_ref().map(Lanes::another);
        Self { before: Some(Arc::clone(self)), ..Self::empty(dialer, lanes, self.cost, self.per_host, history) }
    }

    fn empty(
        dialer: Arc<Dialer>,
        lanes: Option<Lanes>,
        cost: IdleConnections,
        per_host: Option<usize>,
        history: Arc<ReuseHistory>,
    ) -> Self {
        let (runtime, idle, opening) = (Handle::current(), Mutex::default(), AtomicUsize::new(0));
        let is_retired = AtomicBool::new(false);
        Self { dialer, runtime, lanes, idle, opening, cost, per_host, history, is_retired, before: None }
    }

    /// Whether any thread may write a request to a connection.
    pub(super) fn has_plain_connections(&self) -> bool {
        self.lanes.is_none() && self.dialer.is_plain()
    }

    /// The carrier of a request that waits for no connection. Where there is none, the address whose turn it is.
    pub(super) fn ready(self: &Arc<Self>) -> Result<Carrier, Option<Arc<Peer>>> {
        let Some(peer) = self.turn() else { return Err(None) };
        let carrier = match &self.lanes {
            None => self.take(&peer).map(Carrier::Own),
            Some(lanes) => {
                let (slot, lost) = lanes.ready(&peer);
                lost.iter().map(|peer| peer.address).for_each(|to| self.history.lose(to, Instant::now()));
                slot.map(Carrier::Shared)
            }
        };
        carrier.ok_or(Some(peer))
    }

    /// The address whose turn it is. Each request takes one turn, whoever reads its answer.
    pub(super) fn turn(&self) -> Option<Arc<Peer>> {
        self.dialer.addresses.next()
    }

    /// Opens a connection for one request, or waits for one that others wait for too. It is a new one for a second
    /// `try_`; a request that was refused may take any that is shared.
    pub(super) async fn carrier(&self, try_: Try, peer: Option<Arc<Peer>>) -> Result<Carrier, DiagnosedFailure> {
        match (&self.lanes, peer) {
            (Some(lanes), Some(peer)) => lanes.slot(&peer, matches!(try_, Try::Second)).await.map(Carrier::Shared),
            (_, peer) => self.open(peer).await.map(Carrier::Own),
        }
    }

    /// Opens a connection to `peer`, or to another address where that one fails.
    async fn open(&self, peer: Option<Arc<Peer>>) -> Result<Box<PooledConnection>, DiagnosedFailure> {
        let (begun, _opening) = (Instant::now(), Opening::begin());
        let (socket, peer) = self.dialer.open(peer).await?;
        Ok(Box::new(PooledConnection { socket, peer, opening: begun.elapsed(), answers: 0, tail: None }))
    }

    /// A ready connection to this address; keeps a few in reserve.
    fn take(self: &Arc<Self>, peer: &Arc<Peer>) -> Option<Box<PooledConnection>> {
        let now = Instant::now();
        if let Some(before) = self.before.as_ref().filter(|_| self.history.is_unknown()) {
            before.idle().look(now, &self.history);
        }
        let mut idle = self.idle();
        idle.close_older_than(IDLE_LIMIT, now);
        let taken = idle.take(peer, now, &self.history);
        let usable = idle.usable(peer, now);
        drop(idle);
        self.fill_reserve(peer, usable);
        taken
    }

    /// Notes that the server closed a connection to `peer`, announced or not.
    pub(super) fn lost_one(&self, peer: &Peer) {
        self.history.lose(peer.address, Instant::now());
    }

    /// Returns whether a request would have a connection to `peer` but for the server's close.
    pub(super) fn misses_a_lost_one(&self, peer: &Peer) -> bool {
        self.cost == IdleConnections::Free
            && (self.history.misses(peer.address, Instant::now()) || !self.history.allows_reuse())
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
        if self.is_retired.load(Ordering::Relaxed) {
            return;
        }
        let idle = Idle { connection, since: Instant::now() };
        let mut lanes = self.idle();
        if idle.connection.answers > 0 { &mut lanes.answered } else { &mut lanes.opened_ahead }.push(idle);
    }

    /// Opens connections until `count` are idle, where that is allowed. Where some are to be kept to each address, it
    /// opens these. A failure is left to the request that will need the connection.
    pub(crate) async fn warm_up(&self, count: usize) {
        if let Some(lanes) = &self.lanes {
            return lanes.warm_up(count).await;
        }
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        self.history.lost().clear();
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

    fn fill_reserve(self: &Arc<Self>, peer: &Arc<Peer>, usable: usize) {
        if self.cost == IdleConnections::HoldThreads || self.is_retired.load(Ordering::Relaxed) {
            return;
        }
        let expected = usable + self.opening.load(Ordering::Relaxed);
        let room = self.per_host.map_or(RESERVE, |most| most.saturating_sub(peer.open()));
        let wanted = RESERVE.div_ceil(self.dialer.addresses.known().len().max(1)).min(expected + room);
        for _ in expected..wanted {
            self.opening.fetch_add(1, Ordering::Relaxed);
            let (pool, peer) = (Arc::clone(self), Arc::clone(peer));
            self.runtime.spawn(async move {
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
