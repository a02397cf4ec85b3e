//! Keeps connections open between requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;

use super::dial::Dialer;
use super::lane::{Lane, Readiness};
use crate::engine::IdleConnections;
use crate::engine::cause::Fault;

/// Idle connections older than this are not used: uvicorn and Node close theirs after 5 s.
const IDLE_LIMIT: Duration = Duration::from_secs(4);
/// How long a connection rests after an answer before it is used again: a server that closes after each answer
/// without saying so needs a moment for it, and a request sent into the close is lost.
const REST: Duration = Duration::from_millis(50);
/// A connection found closed sooner than this after its answer was closed because of the answer, not of the time.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Ready connections kept while requests come, so that opening one is rarely in a request's way.
const RESERVE: usize = 4;
/// Connections opened at the same time by a warm-up.
const OPENED_TOGETHER: usize = 64;

/// The idle connections to one server: the last to be given back goes out first, once it has rested.
pub(crate) struct Pool {
    dialer: Dialer,
    idle: Mutex<Vec<Idle>>,
    /// Connections being opened for the reserve.
    opening: AtomicUsize,
    cost: IdleConnections,
    custom: Custom,
}

/// What the server does with a connection after an answer, so far as it has shown.
#[derive(Default)]
struct Custom {
    /// One connection at least has carried a second answer.
    keeps: AtomicBool,
    /// One was closed right after its answer, though nothing in the answer said so.
    closes: AtomicBool,
}

impl Custom {
    /// A server that has kept a connection is not thought to close them all because one was lost.
    fn lets_reuse(&self) -> bool {
        self.keeps.load(Ordering::Relaxed) || !self.closes.load(Ordering::Relaxed)
    }
}

struct Idle {
    lane: Box<Lane>,
    since: Instant,
}

impl Pool {
    /// An empty pool; it stays empty where idle connections have their `cost`.
    pub(crate) fn new(dialer: Dialer, cost: IdleConnections) -> Self {
        let (idle, opening) = (Mutex::default(), AtomicUsize::new(0));
        Self { dialer, idle, opening, cost, custom: Custom::default() }
    }

    /// Opens a connection for one request.
    pub(super) async fn open(&self) -> Result<Box<Lane>, Fault> {
        self.dialer.open().await
    }

    /// A ready connection, if there is one; sees to it that a few remain.
    pub(super) fn take(self: &Arc<Self>) -> Option<Box<Lane>> {
        let taken = self.newest_rested();
        self.fill_reserve();
        taken
    }

    /// The newest of those that have answered, else the newest of those opened ahead.
    fn newest_rested(&self) -> Option<Box<Lane>> {
        let mut idle = self.idle();
        self.newest(&mut idle, |lane| lane.answers > 0)
            .or_else(|| self.newest(&mut idle, |lane| lane.answers == 0))
    }

    fn newest(&self, idle: &mut Vec<Idle>, wanted: impl Fn(&Lane) -> bool) -> Option<Box<Lane>> {
        // A connection whose last answer has not closed yet is passed over, not closed: its server is only slow.
        for index in (0..idle.len()).rev() {
            if !wanted(&idle[index].lane) || !idle[index].has_rested() {
                continue;
            }
            match idle[index].lane.readiness() {
                Readiness::Ready => return Some(idle.remove(index).lane),
                Readiness::Closing => {}
                Readiness::Dead => {
                    let dead = idle.remove(index);
                    if dead.lane.answers > 0 && dead.since.elapsed() < AT_ONCE {
                        self.custom.closes.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        None
    }

    /// Gives a connection back once its answer is complete.
    pub(super) fn give_back(&self, mut lane: Box<Lane>) {
        lane.answers += 1;
        if lane.answers > 1 {
            self.custom.keeps.store(true, Ordering::Relaxed);
        }
        if self.cost == IdleConnections::Free && self.custom.lets_reuse() {
            self.keep(lane);
        }
    }

    fn keep(&self, lane: Box<Lane>) {
        self.idle().push(Idle { lane, since: Instant::now() });
    }

    /// Opens connections until `count` are idle, where they may be. One that fails is left to the request that will
    /// need it.
    pub(crate) async fn warm_up(&self, count: usize) {
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        let missing = count.saturating_sub(self.idle().len());
        let opened = futures::stream::iter(0..missing).map(|_| self.open()).buffer_unordered(OPENED_TOGETHER);
        opened
            .for_each(|lane| {
                if let Ok(lane) = lane {
                    self.keep(lane);
                }
                std::future::ready(())
            })
            .await;
    }

    fn fill_reserve(self: &Arc<Self>) {
        if self.cost == IdleConnections::HoldThreads {
            return;
        }
        let usable = self.idle().iter().filter(|idle| idle.has_rested()).count();
        let expected = usable + self.opening.load(Ordering::Relaxed);
        for _ in expected..RESERVE {
            self.opening.fetch_add(1, Ordering::Relaxed);
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                if let Ok(lane) = pool.open().await {
                    pool.keep(lane);
                }
                pool.opening.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// The idle connections, oldest first, those past their time closed.
    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = idle.partition_point(|idle| idle.since.elapsed() >= IDLE_LIMIT);
        idle.drain(..stale);
        idle
    }
}

impl Idle {
    /// A connection that has answered nothing yet needs no rest.
    fn has_rested(&self) -> bool {
        self.lane.answers == 0 || self.since.elapsed() >= REST
    }
}
