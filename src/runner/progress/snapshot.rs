//! The state of a run at one moment, as a screen shows it.

use std::time::Duration;

use super::timeline::Second;
use crate::clock::Timestamp;
use crate::record::{FailureKind, ServerState};

/// How many seconds back the figures of the last seconds reach.
pub const RECENT_S: u64 = 10;

/// The state of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Requests of the window alone.
    pub measured: Tally,
    /// Flows over the last seconds that are over; absent in the run's first second.
    pub rates: Option<Rates>,
    /// Time to first token, from the scheduled moment, of the requests that have one.
    pub ttft: LiveLatency,
    /// Inter-token latency, token-weighted.
    pub itl: LiveLatency,
    /// Time per output token after the first, of completed requests.
    pub tpot: LiveLatency,
    /// From the scheduled moment to the last token, of completed requests.
    pub e2e: LiveLatency,
    /// How late requests were let go.
    pub schedule_lag: LiveLatency,
    /// Failures of all requests by their kind, most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// What the server and its devices last told of themselves; empty where they tell nothing.
    pub server: ServerState,
    /// When a person stopped the run; absent where nobody did.
    pub stopped: Option<Timestamp>,
    /// The last seconds that are over, oldest first.
    pub seconds: Vec<Second>,
}

/// Requests of the window so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Let go.
    pub released: u64,
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Of those, refused by the server (429, 503).
    pub rejected: u64,
    /// Of those, ended by one of the client's own time limits.
    pub timed_out: u64,
}

impl Tally {
    pub(super) fn failed(&mut self, kind: FailureKind) {
        self.failed += 1;
        self.rejected += u64::from(kind.is_reject());
        self.timed_out += u64::from(kind.is_timeout());
    }
}

/// Flows, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Requests let go.
    pub released: f64,
    /// Requests completed.
    pub completed: f64,
    /// Requests failed.
    pub failed: f64,
    /// Answer tokens.
    pub tokens: f64,
}

impl Rates {
    /// Over the last `most` of these seconds; `None` where there is none.
    pub(super) fn over(seconds: &[Second], most: usize) -> Option<Self> {
        let last = &seconds[seconds.len().saturating_sub(most)..];
        let per_s = |count: fn(&Second) -> u64| {
            last.iter().map(|second| count(second) as f64).sum::<f64>() / last.len() as f64
        };
        (!last.is_empty()).then(|| Self {
            released: per_s(|second| second.released),
            completed: per_s(|second| second.completed),
            failed: per_s(|second| second.failed),
            tokens: per_s(|second| second.tokens),
        })
    }
}

/// A latency as seen so far, within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveLatency {
    /// Of all requests, in the last [`RECENT_S`] seconds; absent where there was none.
    pub recent: Option<Spread>,
    /// Of the requests of the window, since it began; absent where there was none.
    pub window: Option<Spread>,
}

/// Where samples lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: Duration,
    /// Smallest.
    pub min: Duration,
    /// Median.
    pub p50: Duration,
    /// 90th percentile.
    pub p90: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// 99.9th percentile.
    pub p999: Duration,
    /// Largest.
    pub max: Duration,
}
