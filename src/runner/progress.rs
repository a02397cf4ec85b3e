//! What a run looks like while it is on: counters that flights write and a screen reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::record::{Outcome, RequestRecord};

/// Live counters of one run. The figures reported in the end never come from here: they are computed from
/// the records.
#[derive(Debug)]
pub struct Progress {
    released: AtomicU64,
    started: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    censored: AtomicU64,
    tokens: AtomicU64,
    /// Time to first token in microseconds.
    ttft: Mutex<Histogram<u64>>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Requests that the pacer let go.
    pub released: u64,
    /// Requests sent or about to be, and not yet ended.
    pub in_flight: u64,
    /// Requests waiting for a place under the concurrency cap.
    pub queued: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Median time to first token so far.
    pub ttft_p50: Option<Duration>,
    /// 99th percentile of the time to first token so far.
    pub ttft_p99: Option<Duration>,
}

impl Default for Progress {
    fn default() -> Self {
        let zero = AtomicU64::default;
        // Three digits over any latency; the histogram grows as needed and is only ever a live view.
        let ttft = Histogram::new(3).unwrap_or_else(|_| unreachable!("3 digits are allowed"));
        Self {
            released: zero(),
            started: zero(),
            completed: zero(),
            failed: zero(),
            censored: zero(),
            tokens: zero(),
            ttft: Mutex::new(ttft),
        }
    }
}

impl Progress {
    pub(super) fn released(&self) {
        self.released.fetch_add(1, Relaxed);
    }

    pub(super) fn started(&self) {
        self.started.fetch_add(1, Relaxed);
    }

    /// One that waited under the cap is not sent any more.
    pub(super) fn given_up(&self) {
        self.started();
        self.censored.fetch_add(1, Relaxed);
    }

    pub(super) fn tokens(&self, count: u32) {
        self.tokens.fetch_add(u64::from(count), Relaxed);
    }

    pub(super) fn first_token(&self, ttft: Duration) {
        let micros = u64::try_from(ttft.as_micros()).unwrap_or(u64::MAX);
        // The histogram grows as it must; a value past even that is left out of the live view.
        let _ = self.ttft.lock().unwrap_or_else(PoisonError::into_inner).record(micros);
    }

    pub(super) fn ended(&self, record: &RequestRecord) {
        match record.outcome {
            Outcome::Completed => &self.completed,
            Outcome::Failed(_) => &self.failed,
            Outcome::Censored => &self.censored,
        }
        .fetch_add(1, Relaxed);
    }

    /// The counters now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let ttft = self.ttft.lock().unwrap_or_else(PoisonError::into_inner);
        let quantile = |q| (!ttft.is_empty()).then(|| Duration::from_micros(ttft.value_at_quantile(q)));
        let [released, started, completed, failed, censored] =
            [&self.released, &self.started, &self.completed, &self.failed, &self.censored]
                .map(|counter| counter.load(Relaxed));
        Snapshot {
            released,
            in_flight: started.saturating_sub(completed + failed + censored),
            queued: released.saturating_sub(started),
            completed,
            failed,
            tokens: self.tokens.load(Relaxed),
            ttft_p50: quantile(0.5),
            ttft_p99: quantile(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_quantiles_follow_latencies_of_any_size() {
        let progress = Progress::default();
        for seconds in 1..=100 {
            progress.first_token(Duration::from_secs(seconds));
        }
        let snapshot = progress.snapshot();
        let close = |found: Option<Duration>, seconds: f64| {
            (found.unwrap().as_secs_f64() / seconds - 1.0).abs() < 0.002
        };
        assert!(close(snapshot.ttft_p50, 50.0) && close(snapshot.ttft_p99, 99.0), "{snapshot:?}");
    }
}
