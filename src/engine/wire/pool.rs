//! Keeps connections open between requests.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::task::noop_waker;
use hyper::body::{Body, Incoming};
use tokio::time::Instant;

use super::dial::{Dialer, Lane};
use crate::record::Failure;

/// Idle connections older than this are not used: uvicorn and Node close theirs after 5 s.
const IDLE_LIMIT: Duration = Duration::from_secs(4);
/// Ready connections kept while requests come, so that opening one is rarely in a request's way.
const RESERVE: usize = 4;
/// Connections opened at the same time by a warm-up.
const OPENED_TOGETHER: usize = 64;

/// The idle connections to one server, last in first out.
pub(crate) struct Pool {
    dialer: Dialer,
    idle: Mutex<Vec<Idle>>,
    /// Connections being opened for the reserve.
    opening: AtomicUsize,
}

struct Idle {
    lane: Lane,
    /// What is left of the last answer after its end: closing bytes that are read when the connection is wanted.
    tail: Option<Incoming>,
    since: Instant,
}

impl Pool {
    /// An empty pool.
    pub(crate) fn new(dialer: Dialer) -> Self {
        Self { dialer, idle: Mutex::default(), opening: AtomicUsize::new(0) }
    }

    /// Opens a connection for one request.
    pub(crate) async fn open(&self) -> Result<Lane, Failure> {
        self.dialer.open().await
    }

    /// A ready connection, if there is one; sees to it that a few remain.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Lane> {
        let taken = self.newest_alive();
        self.fill_reserve();
        taken
    }

    fn newest_alive(&self) -> Option<Lane> {
        let mut idle = self.idle();
        // A connection whose last answer has not closed yet is passed over, not closed: its server is only slow.
        for index in (0..idle.len()).rev() {
            match idle[index].readiness() {
                Readiness::Ready => return Some(idle.remove(index).lane),
                Readiness::Closing => {}
                Readiness::Dead => {
                    idle.remove(index);
                }
            }
        }
        None
    }

    /// Gives a connection back once its answer is complete; `tail` is what is left of the answer's body.
    pub(crate) fn give_back(&self, lane: Lane, tail: Option<Incoming>) {
        if !lane.sender.is_closed() {
            self.idle().push(Idle { lane, tail, since: Instant::now() });
        }
    }

    /// Opens connections until `count` are idle. One that fails is left to the request that will need it.
    pub(crate) async fn warm_up(&self, count: usize) {
        let missing = count.saturating_sub(self.idle().len());
        let opened = futures::stream::iter(0..missing).map(|_| self.open()).buffer_unordered(OPENED_TOGETHER);
        opened
            .for_each(|lane| {
                if let Ok(lane) = lane {
                    self.give_back(lane, None);
                }
                std::future::ready(())
            })
            .await;
    }

    fn fill_reserve(self: &Arc<Self>) {
        let expected = self.idle().len() + self.opening.load(Ordering::Relaxed);
        for _ in expected..RESERVE {
            self.opening.fetch_add(1, Ordering::Relaxed);
            let pool = Arc::clone(self);
            tokio::spawn(async move {
                if let Ok(lane) = pool.open().await {
                    pool.give_back(lane, None);
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

enum Readiness {
    Ready,
    Closing,
    Dead,
}

impl Idle {
    /// Looks, without waiting, whether the connection can take a request.
    fn readiness(&mut self) -> Readiness {
        let waker = noop_waker();
        let cx = &mut Context::from_waker(&waker);
        loop {
            // The connection first: it brings the bytes that the tail waits for.
            if self.lane.connection.as_mut().poll(cx).is_ready() {
                return Readiness::Dead;
            }
            let Some(tail) = &mut self.tail else { break };
            match Pin::new(tail).poll_frame(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_))) => return Readiness::Dead,
                Poll::Ready(None) => self.tail = None,
                Poll::Pending => return Readiness::Closing,
            }
        }
        match self.lane.sender.poll_ready(cx) {
            Poll::Ready(Ok(())) => Readiness::Ready,
            Poll::Ready(Err(_)) => Readiness::Dead,
            Poll::Pending => Readiness::Closing,
        }
    }
}
