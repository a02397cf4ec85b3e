//! The connections of a pool that wait for a request.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::coop::has_budget_remaining;
use tokio::time::Instant;

use super::connection::{PooledConnection, Readiness};
use super::history::ReuseHistory;
use super::socket::Peer;

/// Rest of a connection after an answer before it is used again. A server that closes after each answer without
/// announcing it needs a moment, and a request sent into the close is lost.
const REST: Duration = Duration::from_millis(50);
/// Time after an answer within which a closed connection was closed because of it. Its age is not the reason.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Ready connections kept over all addresses while requests come. With them a request rarely waits for one to open.
pub(super) const RESERVE: usize = 4;

/// Takes the newest rested connection to an address first. Else it takes the newest of those opened ahead.
#[derive(Default)]
pub(super) struct IdleQueue {
    /// Connections that have answered, oldest first.
    pub(super) answered: Vec<Idle>,
    /// Connections opened ahead, oldest first: they need no rest.
    pub(super) opened_ahead: Vec<Idle>,
}

pub(super) struct Idle {
    pub(super) connection: Box<PooledConnection>,
    pub(super) since: Instant,
}

impl IdleQueue {
    /// Learns from connections that the server has closed after their answers.
    pub(super) fn look(&mut self, now: Instant, history: &ReuseHistory) {
        self.answered.retain_mut(|idle| {
            let is_dead = idle.connection.readiness() == Readiness::Dead;
            if is_dead && now.duration_since(idle.since) < AT_ONCE {
                history.closes.store(true, Ordering::Relaxed);
            }
            !is_dead
        });
    }

    pub(super) fn len(&self) -> usize {
        self.answered.len() + self.opened_ahead.len()
    }

    pub(super) fn take(
        &mut self,
        to: &Arc<Peer>,
        now: Instant,
        history: &ReuseHistory,
    ) -> Option<Box<PooledConnection>> {
        let rested = self.rested(now);
        newest(&mut self.answered, rested, to, now, history)
            .or_else(|| newest(&mut self.opened_ahead, usize::MAX, to, now, history))
    }

    /// Number of connections to this address that a request can take, up to the reserve.
    pub(super) fn usable(&self, to: &Arc<Peer>, now: Instant) -> usize {
        let all = self.answered[..self.rested(now)].iter().chain(&self.opened_ahead);
        all.filter(|idle| idle.connection.goes_to(to)).take(RESERVE).count()
    }

    /// Number of rested connections: the oldest ones.
    pub(super) fn rested(&self, now: Instant) -> usize {
        self.answered.partition_point(|idle| now.duration_since(idle.since) >= REST)
    }

    pub(super) fn close_older_than(&mut self, limit: Duration, now: Instant) {
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
                history.lose(to.address, Instant::now());
                if dead.connection.answers > 0 && now.duration_since(dead.since) < AT_ONCE {
                    history.closes.store(true, Ordering::Relaxed);
                }
            }
        }
    }
    None
}
