//! How a server treats connections after answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Age above which idle connections are not used. uvicorn and Node close theirs after 5 s.
pub(super) const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// The server's treatment of connections after answers, as seen so far.
#[derive(Default)]
pub(super) struct ReuseHistory {
    /// A connection has carried a second answer.
    pub(super) keeps: AtomicBool,
    /// A connection was closed right after its answer, unannounced.
    pub(super) closes: AtomicBool,
    /// Connections that the server closed and no request has missed yet. Of each address it has how many there are and
    /// when the last was closed. They are soon forgotten, for none of them would be idle that long.
    lost: Mutex<HashMap<SocketAddr, (usize, Instant)>>,
}

impl ReuseHistory {
    /// Whether no connection has shown yet how the server treats them.
    pub(super) fn is_unknown(&self) -> bool {
        !self.keeps.load(Ordering::Relaxed) && !self.closes.load(Ordering::Relaxed)
    }

    /// Returns whether connections may be used again. A server that has kept one does not close them all; one may be
    /// lost.
    pub(super) fn allows_reuse(&self) -> bool {
        self.keeps.load(Ordering::Relaxed) || !self.closes.load(Ordering::Relaxed)
    }

    /// Notes that the server closed a connection to this address.
    pub(super) fn lose(&self, to: SocketAddr, now: Instant) {
        let mut lost = self.lost();
        let (count, at) = lost.entry(to).or_insert((0, now));
        let still = if now.duration_since(*at) < IDLE_LIMIT { *count } else { 0 };
        (*count, *at) = (still + 1, now);
    }

    /// Takes off a lost connection to this address; whether there was one.
    pub(super) fn misses(&self, to: SocketAddr, now: Instant) -> bool {
        let mut lost = self.lost();
        let still = |(count, at): &&mut (usize, Instant)| *count > 0 && now.duration_since(*at) < IDLE_LIMIT;
        lost.get_mut(&to).filter(still).map(|(count, _)| *count -= 1).is_some()
    }

    /// Connections that are still missing, or were long ago.
    pub(super) fn lost(&self) -> MutexGuard<'_, HashMap<SocketAddr, (usize, Instant)>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_missed_once_and_not_for_long() {
        let (begin, history) = (Instant::now(), ReuseHistory::default());
        let [one, other] = [1, 2].map(|last| SocketAddr::from(([127, 0, 0, last], 9)));
        let misses = |to, after| history.misses(to, begin + after);
        assert!(!misses(one, Duration::ZERO));
        history.lose(one, begin);
        history.lose(one, begin);
        assert!(!misses(other, Duration::ZERO), "it closed none");
        assert!(misses(one, Duration::ZERO) && misses(one, IDLE_LIMIT / 2) && !misses(one, Duration::ZERO));
        (0..100).for_each(|_| history.lose(one, begin));
        assert!(!misses(one, IDLE_LIMIT));
        history.lose(one, begin + IDLE_LIMIT);
        assert!(misses(one, IDLE_LIMIT) && !misses(one, IDLE_LIMIT));
    }
}
