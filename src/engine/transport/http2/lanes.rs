//! Shares connections among requests: so many streams to each, to every address of the server.

use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt as _, Shared, join_all};

use super::connection::Connection;
use crate::engine::answer::DiagnosedFailure;
use crate::engine::transport::socket::{Dialer, Peer};
use crate::record::Http2Facts;

/// Time before another connection is opened ahead to an address that refused one.
const REFUSED_FOR: Duration = Duration::from_secs(5);

/// The connections to one server, oldest first.
pub(crate) struct Lanes {
    dialer: Arc<Dialer>,
    /// Most streams of a connection.
    most: usize,
    /// Connections to each address, before any is shared.
    per_host: usize,
    list: Mutex<Vec<Lane>>,
}

/// A connection that is open or is being opened, or that was refused.
#[derive(Clone)]
struct Lane {
    /// The address that it is opened to.
    to: Arc<Peer>,
    begun: Instant,
    /// Streams for which there is a request.
    taken: Arc<AtomicUsize>,
    opened: Shared<BoxFuture<'static, Result<Arc<Connection>, DiagnosedFailure>>>,
}

/// A place for one stream, which dropping it frees.
struct Place {
    taken: Arc<AtomicUsize>,
    /// How many were taken before.
    number: usize,
}

impl Place {
    fn take(taken: &Arc<AtomicUsize>) -> Self {
        Self { number: taken.fetch_add(1, Relaxed), taken: Arc::clone(taken) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Relaxed);
    }
}

/// An open connection with a place for one request.
pub(crate) struct StreamSlot {
    pub(super) connection: Arc<Connection>,
    /// Whether the request waited until it was open.
    pub(crate) is_new: bool,
    _place: Place,
}

impl StreamSlot {
    /// Time that opening its connection took.
    pub(crate) fn opening(&self) -> Duration {
        self.connection.opening
    }

    /// The place of its address, where there may be several.
    pub(crate) fn place(&self) -> Option<NonZeroU16> {
        self.connection.peer.place
    }
}

impl Lane {
    fn open(dialer: &Arc<Dialer>, to: &Arc<Peer>) -> Self {
        let (dialer, peer) = (Arc::clone(dialer), Arc::clone(to));
        let opened = async move { Connection::open(&dialer, Some(peer)).await.map(Arc::new) };
        let opened = opened.boxed().shared();
        // It goes on where the requests that wait for it are given up.
        tokio::spawn(opened.clone());
        Self { to: Arc::clone(to), begun: Instant::now(), taken: Arc::default(), opened }
    }

    fn connection(&self) -> Option<&Arc<Connection>> {
        self.opened.peek().and_then(|opened| opened.as_ref().ok())
    }

    fn is_refused(&self) -> bool {
        matches!(self.opened.peek(), Some(Err(_)))
    }

    fn peer(&self) -> &Arc<Peer> {
        self.connection().map_or(&self.to, |connection| &connection.peer.peer)
    }

    fn goes_to(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(self.peer(), peer)
    }

    /// Returns how many streams the lane takes. It is as many as the server says, and none while that may be gone.
    fn room(&self, most: usize) -> usize {
        match self.connection() {
            Some(connection) if connection.ledger.open().is_doubted => 0,
            Some(connection) => most.min(connection.requests.current_max_send_streams()).max(1),
            None => most,
        }
    }

    fn is_full(&self, most: usize) -> bool {
        let taken = self.taken.load(Relaxed);
        taken >= most || self.is_refused() || taken >= self.room(most)
    }
}

impl Lanes {
    /// No connection yet. There will be so many to each address at least, one where nothing is said.
    pub(crate) fn new(dialer: Arc<Dialer>, http2: Http2Facts, per_host: Option<usize>) -> Self {
        let most = http2.streams_per_connection as usize;
        Self { dialer, most, per_host: per_host.unwrap_or(1), list: Mutex::default() }
    }

    /// Other connections of the same kind to the same server.
    pub(crate) fn another(&self) -> Self {
        Self { dialer: Arc::clone(&self.dialer), most: self.most, per_host: self.per_host, list: Mutex::default() }
    }

    /// A place on an open connection to `peer`. With it come the addresses of those that were closed.
    pub(crate) fn ready(&self, peer: &Arc<Peer>) -> (Option<StreamSlot>, Vec<Arc<Peer>>) {
        let (mut lanes, lost) = self.usable();
        let slot = self.take(&mut lanes, peer, |lane| lane.connection().is_some()).and_then(|(lane, place)| {
            Some(StreamSlot { connection: Arc::clone(lane.connection()?), is_new: false, _place: place })
        });
        (slot, lost)
    }

    /// A place on a connection to `peer`, opened where there is none. A `fresh` one was not open before.
    pub(crate) async fn slot(&self, peer: &Arc<Peer>, fresh: bool) -> Result<StreamSlot, DiagnosedFailure> {
        loop {
            let (lane, place) = {
                let (mut lanes, _) = self.usable();
                let suits = |lane: &Lane| !fresh || lane.connection().is_none();
                self.take(&mut lanes, peer, suits).unwrap_or_else(|| {
                    let refused = lanes.iter().position(|lane| lane.is_refused() && lane.goes_to(peer));
                    refused.map(|place| lanes.remove(place));
                    let lane = Lane::open(&self.dialer, peer);
                    lanes.push(lane.clone());
                    let place = Place::take(&lane.taken);
                    (lane, place)
                })
            };
            let is_new = lane.connection().is_none();
            let connection = lane.opened.clone().await?;
            // The server may take fewer than were waiting.
            if place.number < lane.room(self.most) {
                return Ok(StreamSlot { connection, is_new, _place: place });
            }
        }
    }

    /// Opens connections for so many requests. A failure is left to the request that will need the connection.
    pub(crate) async fn warm_up(&self, count: usize) {
        let opening: Vec<_> = {
            let (mut lanes, _) = self.usable();
            let known = self.dialer.addresses.known();
            let each = count.div_ceil(self.most).div_ceil(known.len().max(1)).max(self.per_host);
            known.iter().for_each(|peer| self.open_to(&mut lanes, peer, each));
            lanes.iter().map(|lane| lane.opened.clone()).collect()
        };
        join_all(opening).await;
    }

    /// Takes a place of the connection to `peer` with the fewest streams in flight. Open ones with room come before
    /// those that are being opened. One over which nothing comes any more thus fills up, and is passed over. Once a
    /// request on it is given up, it gets no more until the server has said something. When the last place is taken,
    /// another is opened ahead, unless one was just refused.
    fn take(&self, lanes: &mut Vec<Lane>, peer: &Arc<Peer>, suits: impl Fn(&Lane) -> bool) -> Option<(Lane, Place)> {
        let free = lanes.iter().filter(|lane| lane.goes_to(peer) && suits(lane) && !lane.is_full(self.most));
        let lane = free.min_by_key(|lane| (lane.connection().is_none(), lane.taken.load(Relaxed))).cloned()?;
        let place = Place::take(&lane.taken);
        if lanes.iter().filter(|lane| lane.goes_to(peer)).all(|lane| lane.is_full(self.most) && !lane.is_refused()) {
            lanes.push(Lane::open(&self.dialer, peer));
        }
        self.open_to(lanes, peer, self.per_host);
        Some((lane, place))
    }

    /// Opens connections to `peer` until there are so many. One that was just refused counts.
    fn open_to(&self, lanes: &mut Vec<Lane>, peer: &Arc<Peer>, count: usize) {
        let there = lanes.iter().filter(|lane| lane.goes_to(peer)).count();
        lanes.extend((there..count).map(|_| Lane::open(&self.dialer, peer)));
    }

    /// The connections that may get requests, or were just refused. The addresses are those of what was closed.
    fn usable(&self) -> (MutexGuard<'_, Vec<Lane>>, Vec<Arc<Peer>>) {
        let (mut lanes, mut lost) = (self.list.lock().unwrap_or_else(PoisonError::into_inner), Vec::new());
        lanes.retain(|lane| {
            let is_closing = lane.connection().is_some_and(|connection| connection.is_closing());
            lost.extend(is_closing.then(|| Arc::clone(lane.peer())));
            let is_over = is_closing || lane.is_refused() && lane.begun.elapsed() >= REFUSED_FOR;
            !is_over && !lane.peer().is_gone()
        });
        (lanes, lost)
    }
}
