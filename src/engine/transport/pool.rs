//! Keeps connections open between requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::task::noop_waker_ref;
use tokio::task::coop::has_budget_remaining;
use tokio::time::Instant;

use super::http::{Body, Rest};
use super::socket::{Dialer, Socket};
use crate::engine::answer::DiagnosedFailure;
use crate::engine::dialect_traits::IdleConnections;

/// Age above which idle connections are not used. uvicorn and Node close theirs after 5 s.
const IDLE_LIMIT: Duration = Duration::from_secs(4);
/// Rest of a connection after an answer before it is used again. A server that closes after each answer without
/// announcing it needs a moment, and a request sent into the close is lost.
const REST: Duration = Duration::from_millis(50);
/// Time after an answer within which a closed connection was closed because of it. Its age is not the reason.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Ready connections kept while requests come. With them a request rarely waits for one to open.
const RESERVE: usize = 4;
/// Connections opened concurrently by a warm-up.
const OPENED_TOGETHER: usize = 64;

/// The idle connections to one server.
pub(crate) struct Pool {
    dialer: Dialer,
    idle: Mutex<IdleQueue>,
    /// Connections being opened for the reserve.
    opening: AtomicUsize,
    cost: IdleConnections,
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

/// Takes the newest rested connection first, else the newest of those opened ahead.
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
    /// An empty pool; it stays empty where idle connections have a `cost`.
    pub(crate) fn new(dialer: Dialer, cost: IdleConnections) -> Self {
        let (idle, opening) = (Mutex::default(), AtomicUsize::new(0));
        Self { dialer, idle, opening, cost, history: ReuseHistory::default() }
    }

    /// Opens a connection for one request.
    pub(super) async fn open(&self) -> Result<Box<PooledConnection>, DiagnosedFailure> {
        let begun = Instant::now();
        let socket = self.dialer.open().await?;
        Ok(Box::new(PooledConnection { socket, opening: begun.elapsed(), answers: 0, tail: None }))
    }

    /// A ready connection, if there is one; keeps a few in reserve.
    pub(super) fn take(self: &Arc<Self>) -> Option<Box<PooledConnection>> {
        let now = Instant::now();
        let mut idle = self.idle();
        idle.close_older_than(IDLE_LIMIT, now);
        let taken = idle.take(now, &self.history);
        let usable = idle.rested(now) + idle.opened_ahead.len();
        drop(idle);
        self.fill_reserve(usable);
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
        if self.cost == IdleConnections::Free && self.history.allows_reuse() {
            self.keep(connection);
        }
    }

    fn keep(&self, connection: Box<PooledConnection>) {
        let idle = Idle { connection, since: Instant::now() };
        let mut lanes = self.idle();
        if idle.connection.answers > 0 { &mut lanes.answered } else { &mut lanes.opened_ahead }.push(idle);
    }

    /// Opens connections until `count` are idle, where that is allowed. A failure is left to the request that
    /// will need the connection.
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
        let opened = futures::stream::iter(0..missing).map(|_| self.open()).buffer_unordered(OPENED_TOGETHER);
        opened
            .for_each(|connection| {
                if let Ok(connection) = connection {
                    self.keep(connection);
                }
                std::future::ready(())
            })
            .await;
    }

    fn fill_reserve(self: &Arc<Self>, usable: usize) {
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        let expected = usable + self.opening.load(Ordering::Relaxed);
        for _ in expected..RESERVE {
            self.opening.fetch_add(1, Ordering::Relaxed);
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                if let Ok(connection) = pool.open().await {
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

    fn take(&mut self, now: Instant, history: &ReuseHistory) -> Option<Box<PooledConnection>> {
        let rested = self.rested(now);
        newest(&mut self.answered, rested, now, history)
            .or_else(|| newest(&mut self.opened_ahead, usize::MAX, now, history))
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

/// The newest ready one among the first `oldest`. One whose last answer is still closing is skipped, not
/// closed: its server is only slow.
fn newest(idle: &mut Vec<Idle>, oldest: usize, now: Instant, history: &ReuseHistory) -> Option<Box<PooledConnection>> {
    for index in (0..idle.len().min(oldest)).rev() {
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

/// Reads tried before the rest of an answer is left for later.
const LOOKS: u32 = 4;

/// An open connection. No task belongs to it: whoever uses it polls it, so that an answer is read in one
/// task.
pub(crate) struct PooledConnection {
    pub(super) socket: Socket,
    /// Time that opening it took.
    pub(super) opening: Duration,
    /// Number of answers that came over it.
    pub(super) answers: u64,
    /// Rest of the last answer after its end. It has the closing bytes, read when the connection is needed again.
    pub(super) tail: Option<Body>,
}

/// Whether a connection can take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    Ready,
    /// The last answer is not over.
    Closing,
    Dead,
}

impl PooledConnection {
    /// Checks without waiting whether the connection can take a request.
    fn readiness(&mut self) -> Readiness {
        let cx = &mut Context::from_waker(noop_waker_ref());
        for _ in 0..LOOKS {
            let tail = &mut self.tail;
            let rest = self.socket.poll_read(cx, |_, read| match (read, tail) {
                // A connection on which the server sends something unasked, or which it closes, is dead.
                (Ok(read), Some(tail)) if !read.bytes.is_empty() => tail.skip(read.bytes),
                _ => Rest::Unusable,
            });
            match rest {
                Poll::Pending if self.tail.is_some() => return Readiness::Closing,
                Poll::Pending => return Readiness::Ready,
                Poll::Ready(Rest::Awaited) => {}
                Poll::Ready(Rest::None) => self.tail = None,
                Poll::Ready(Rest::Unusable) => return Readiness::Dead,
            }
        }
        Readiness::Closing
    }
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
