//! The state of a run at one moment, and the counts of its last seconds.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{FailureKind, ServerState};

/// How many seconds back the recent figures reach.
pub const RECENT_S: u64 = 10;

/// The state of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Requests dispatched.
    pub released: u64,
    /// Requests sent, or about to be, and not ended.
    pub in_flight: u64,
    /// Requests waiting under the concurrency cap.
    pub queued: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Requests of the window alone.
    pub measured: WindowCounts,
    /// `LiveRates` over the last complete seconds; `None` in the run's first second.
    pub rates: Option<LiveRates>,
    /// Time to first token, from the scheduled time.
    pub ttft: LiveLatency,
    /// Inter-token latency, token-weighted.
    pub itl: LiveLatency,
    /// Time per output token after the first, of completed requests.
    pub tpot: LiveLatency,
    /// From the scheduled time to the last token, of completed requests.
    pub e2e: LiveLatency,
    /// Dispatched − scheduled.
    pub schedule_lag: LiveLatency,
    /// Failures of all requests by kind, most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// The latest state of the server and its devices; empty where they report nothing.
    pub server: ServerState,
    /// When the user stopped the run, if so.
    pub stopped: Option<Timestamp>,
    /// The last complete seconds, oldest first.
    pub seconds: Vec<SecondCounts>,
}

/// Requests of the window so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Dispatched.
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

impl WindowCounts {
    pub(super) fn failed(&mut self, kind: FailureKind) {
        self.failed += 1;
        self.rejected += u64::from(kind.is_reject());
        self.timed_out += u64::from(kind.is_timeout());
    }
}

/// `LiveRates` per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveRates {
    /// Requests dispatched.
    pub released: f64,
    /// Requests completed.
    pub completed: f64,
    /// Requests failed.
    pub failed: f64,
    /// Answer tokens.
    pub tokens: f64,
}

impl LiveRates {
    /// The rates over the last `most` of these seconds; `None` where there are none.
    pub(super) fn over(seconds: &[SecondCounts], most: usize) -> Option<Self> {
        let last = &seconds[seconds.len().saturating_sub(most)..];
        let per_s = |count: fn(&SecondCounts) -> u64| {
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

/// A latency so far, within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveLatency {
    /// Of all requests, in the last [`RECENT_S`] seconds; `None` without samples.
    pub recent: Option<LiveSpread>,
    /// Of the requests of the window so far; `None` without samples.
    pub window: Option<LiveSpread>,
}

/// The distribution of live samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveSpread {
    /// Number of samples.
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

/// Seconds kept: more than any terminal has columns.
const KEPT: usize = 400;

/// Counts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondCounts {
    /// Requests dispatched.
    pub released: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests failed.
    pub failed: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Requests waiting under the concurrency cap at its end.
    pub queued: u64,
    /// 99th percentile of the times to first token seen in it; `None` without samples.
    pub ttft_p99: Option<Duration>,
}

/// The last seconds, oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentSeconds {
    past: VecDeque<SecondCounts>,
    /// Their totals so far.
    counted: SecondCounts,
}

impl RecentSeconds {
    /// Closes second `on` and the idle ones up to `next`. `totals` are those of the whole run.
    pub(super) fn close(&mut self, on: u64, next: u64, totals: &SecondCounts, ttft_p99: Option<Duration>) {
        let before = std::mem::replace(&mut self.counted, *totals);
        self.push(SecondCounts {
            released: totals.released - before.released,
            completed: totals.completed - before.completed,
            failed: totals.failed - before.failed,
            tokens: totals.tokens - before.tokens,
            ttft_p99,
            ..*totals
        });
        let idle =
            SecondCounts { in_flight: totals.in_flight, queued: totals.queued, ..SecondCounts::default() };
        for _ in (on + 1..next).take(KEPT) {
            self.push(idle);
        }
    }

    fn push(&mut self, second: SecondCounts) {
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back(second);
    }

    /// The complete seconds, oldest first; the last one is right before the current second.
    pub(super) fn past(&self) -> Vec<SecondCounts> {
        self.past.iter().copied().collect()
    }
}
