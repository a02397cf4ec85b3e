//! Shares connections among requests: so many streams to each, spread over the server's addresses.

use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, Shared, join_all};

use super::connection::Connection;
use crate::engine::answer::DiagnosedFailure;
use crate::engine::transport::socket::Dialer;
use crate::record::Http2Facts;

/// The connections to one server, oldest first.
pub(crate) struct Lanes {
    dialer: Arc<Dialer>,
    /// Most streams of a connection.
    most: usize,
    /// Connections to each address, before any is shared.
    per_host: usize,
    list: Mutex<Vec<Lane>>,
}

/// A connection that is open or is being opened.
#[derive(Clone)]
struct Lane {
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
    fn open(dialer: &Arc<Dialer>) -> Self {
        let dialer = Arc::clone(dialer);
        let opened = async move { Connection::open(&dialer).await.map(Arc::new) };
        Self { taken: Arc::default(), opened: opened.boxed().shared() }
    }

    /// How many streams it takes: at most as many as the server says.
    fn room(&self, most: usize) -> usize {
        match self.opened.peek() {
            Some(Ok(connection)) => most.min(connection.requests.current_max_send_streams()).max(1),
            _ => most,
        }
    }

    fn is_full(&self, most: usize) -> bool {
        self.taken.load(Relaxed) >= self.room(most)
    }

    async fn slot(self, place: Place) -> Result<StreamSlot, DiagnosedFailure> {
        let connection = self.opened.await?;
        Ok(StreamSlot { connection, _place: place })
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

    /// How many connections there are before any is shared.
    fn least(&self) -> usize {
        self.per_host * self.dialer.addresses.known().len()
    }

    /// A place on an open connection, and how many connections the server has closed meanwhile.
    pub(crate) fn ready(&self) -> (Option<StreamSlot>, usize) {
        let (lane, place, lost) = self.take();
        let open = lane.opened.peek().and_then(|opened| opened.as_ref().ok());
        (open.map(|connection| StreamSlot { connection: Arc::clone(connection), _place: place }), lost)
    }

    /// A place on a connection, opened where there is none.
    pub(crate) async fn slot(&self) -> Result<StreamSlot, DiagnosedFailure> {
        loop {
            let (lane, place, _) = self.take();
            let number = place.number;
            let slot = lane.clone().slot(place).await?;
            // The server may take fewer than were waiting.
            if number < lane.room(self.most) {
                return Ok(slot);
            }
        }
    }

    /// A place on a connection that no request has used.
    pub(crate) async fn fresh_slot(&self) -> Result<StreamSlot, DiagnosedFailure> {
        let lane = Lane::open(&self.dialer);
        let place = Place::take(&lane.taken);
        self.list().push(lane.clone());
        lane.slot(place).await
    }

    /// Opens connections for so many requests. A failure is left to the request that will need the connection.
    pub(crate) async fn warm_up(&self, count: usize) {
        let opening: Vec<_> = {
            let mut lanes = self.list();
            let missing = count.div_ceil(self.most).max(self.least()).saturating_sub(lanes.len());
            lanes.extend((0..missing).map(|_| Lane::open(&self.dialer)));
            lanes.iter().map(|lane| lane.opened.clone()).collect()
        };
        join_all(opening).await;
    }

    /// Takes a place of the connection with the fewest streams, or of a new one. When the last place is taken, one is
    /// opened ahead.
    fn take(&self) -> (Lane, Place, usize) {
        let mut lanes = self.list();
        let before = lanes.len();
        lanes.retain(|lane| !matches!(lane.opened.peek(), Some(Ok(connection)) if connection.is_closing()));
        let lost = before - lanes.len();
        lanes.retain(|lane| !matches!(lane.opened.peek(), Some(Err(_))));
        let shared = if lanes.len() < self.least() { &[][..] } else { &lanes };
        let free = shared.iter().filter(|lane| !lane.is_full(self.most));
        let free = free.min_by_key(|lane| lane.taken.load(Relaxed)).cloned();
        let lane = free.unwrap_or_else(|| {
            let lane = Lane::open(&self.dialer);
            lanes.push(lane.clone());
            lane
        });
        let place = Place::take(&lane.taken);
        if lanes.iter().all(|lane| lane.is_full(self.most)) {
            let ahead = Lane::open(&self.dialer);
            tokio::spawn(ahead.opened.clone());
            lanes.push(ahead);
        }
        (lane, place, lost)
    }

    fn list(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
