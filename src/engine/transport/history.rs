//! How a server treats connections after answers.

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
    /// Connections that the server closed and no request has missed yet.
    lost: Mutex<Losses>,
}

/// Connections that are missing because the server closed them. They are soon forgotten: none of them would
/// be idle that long.
#[derive(Default)]
pub(super) struct Losses {
    count: usize,
    last: Option<Instant>,
}

impl Losses {
    pub(super) fn add(&mut self, now: Instant) {
        self.forget_old(now);
        self.count += 1;
        self.last = Some(now);
    }

    /// Takes one of them off; whether there was one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
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
    /// Whether no connection has shown yet how the server treats them.
    pub(super) fn is_unknown(&self) -> bool {
        !self.keeps.load(Ordering::Relaxed) && !self.closes.load(Ordering::Relaxed)
    }

    /// Returns whether connections may be used again. A server that has kept one does not close them all; one may be
    /// lost.
    pub(super) fn allows_reuse(&self) -> bool {
        self.keeps.load(Ordering::Relaxed) || !self.closes.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> MutexGuard<'_, Losses> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
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
