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
    /// Time to first token, from the scheduled time; in a closed loop from sending.
    pub ttft: LiveLatency,
    /// Inter-token latency, token-weighted.
    pub itl: LiveLatency,
    /// Time per output token after the first, of completed requests.
    pub tpot: LiveLatency,
    /// Time to the last token, from when TTFT counts, of completed requests.
    pub e2e: LiveLatency,
    /// Dispatched − scheduled.
    pub schedule_lag: LiveLatency,
    /// Failures of all requests by kind, most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// The latest state of the server and its devices; empty where they report nothing.
    pub server: ServerState,
    /// Moment when the user stopped the run, if so.
    pub stopped: Option<Timestamp>,
    /// The run so far, oldest first: [`Snapshot::each_s`] complete seconds an entry.
    pub seconds: Vec<SecondCounts>,
    /// Seconds of each entry: more in a longer run, so that the entries stay few.
    pub each_s: u64,
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
    /// Failures that were refused by the server (429, 503).
    pub rejected: u64,
    /// Failures that were ended by one of the client's own time limits.
    pub timed_out: u64,
    /// Ended, with an SLO that can be measured.
    pub with_slo: u64,
    /// Requests that met their SLO.
    pub met: u64,
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
    /// Requests that met their SLO.
    pub met: f64,
    /// Answer tokens.
    pub tokens: f64,
}

impl LiveRates {
    /// The rates over these seconds; `None` where there are none.
    fn over(seconds: &VecDeque<SecondCounts>) -> Option<Self> {
        let per_s = |count: fn(&SecondCounts) -> u64| {
            seconds.iter().map(|second| count(second) as f64).sum::<f64>() / seconds.len() as f64
        };
        (!seconds.is_empty()).then(|| Self {
            released: per_s(|second| second.released),
            completed: per_s(|second| second.completed),
            failed: per_s(|second| second.failed),
            met: per_s(|second| second.met),
            tokens: per_s(|second| second.tokens),
        })
    }
}

/// A latency so far, within 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveLatency {
    /// Latency of all requests, in the last [`RECENT_S`] seconds; `None` without samples.
    pub recent: Option<LiveSpread>,
    /// Latency of the requests of the window so far; `None` without samples.
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

/// Most entries of the run so far: more than twice the columns of most terminals.
const KEPT: usize = 600;

/// Counts of one second, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondCounts {
    /// Requests dispatched.
    pub released: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests failed.
    pub failed: u64,
    /// Requests that met their SLO.
    pub met: u64,
    /// Answer tokens that arrived.
    pub tokens: u64,
    /// Requests in flight at its end; of several seconds, the mean.
    pub in_flight: u64,
    /// Requests waiting under the concurrency cap at its end; of several seconds, the mean.
    pub queued: u64,
    /// Median and 99th percentile of the times to first token seen in it. They are `None` without samples.
    pub ttft: Option<(Duration, Duration)>,
    /// Median and 99th percentile of the times per output token; `None` without samples. They are those of the requests
    /// that completed in it.
    pub tpot: Option<(Duration, Duration)>,
    /// Median and 99th percentile of the end-to-end latencies of these requests; `None` without samples.
    pub e2e: Option<(Duration, Duration)>,
    /// Requests that wait in the server, as it reports; `None` where it does not. Of several seconds, the mean.
    pub waiting: Option<u64>,
    /// Share of the server's key-value cache in use, thousandths; `None` where it is not reported. Of several seconds,
    /// the mean.
    pub kv_permille: Option<u64>,
}

impl SecondCounts {
    /// Joins all `seconds`. Counts add up, levels are means, of latencies the mean of medians and the largest p99.
    pub fn joined(seconds: &[Self]) -> Self {
        let sum = |count: fn(&Self) -> u64| seconds.iter().map(count).sum::<u64>();
        let mean = |level: fn(&Self) -> Option<u64>| {
            let known: Vec<_> = seconds.iter().filter_map(level).collect();
            let n = known.len() as u64;
            (n > 0).then(|| (known.iter().sum::<u64>() + n / 2) / n)
        };
        let latency = |of: fn(&Self) -> Option<(Duration, Duration)>| {
            let (medians, p99s): (Vec<_>, Vec<_>) = seconds.iter().filter_map(of).unzip();
            let p99 = p99s.into_iter().max()?;
            Some((medians.iter().sum::<Duration>() / medians.len() as u32, p99))
        };
        Self {
            released: sum(|second| second.released),
            completed: sum(|second| second.completed),
            failed: sum(|second| second.failed),
            met: sum(|second| second.met),
            tokens: sum(|second| second.tokens),
            in_flight: mean(|second| Some(second.in_flight)).unwrap_or_default(),
            queued: mean(|second| Some(second.queued)).unwrap_or_default(),
            ttft: latency(|second| second.ttft),
            tpot: latency(|second| second.tpot),
            e2e: latency(|second| second.e2e),
            waiting: mean(|second| second.waiting),
            kv_permille: mean(|second| second.kv_permille),
        }
    }
}

/// The seconds of a run, oldest first.
#[derive(Debug)]
pub(super) struct RunSeconds {
    /// The last [`RECENT_S`].
    recent: VecDeque<SecondCounts>,
    /// The run so far, `each_s` seconds an entry.
    past: Vec<SecondCounts>,
    each_s: u64,
    /// Seconds of the entry that is not complete.
    open: Vec<SecondCounts>,
    /// The totals of the run so far.
    counted: SecondCounts,
}

impl Default for RunSeconds {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            past: Vec::new(),
            each_s: 1,
            open: Vec::new(),
            counted: SecondCounts::default(),
        }
    }
}

impl RunSeconds {
    /// Closes second `on` and the idle ones up to `next`. The counts of `totals` are those of the whole run.
    pub(super) fn close(&mut self, on: u64, next: u64, totals: &SecondCounts) {
        let before = std::mem::replace(&mut self.counted, *totals);
        self.push(SecondCounts {
            released: totals.released - before.released,
            completed: totals.completed - before.completed,
            failed: totals.failed - before.failed,
            met: totals.met - before.met,
            tokens: totals.tokens - before.tokens,
            ..*totals
        });
        let SecondCounts { in_flight, queued, waiting, kv_permille, .. } = *totals;
        let idle = SecondCounts { in_flight, queued, waiting, kv_permille, ..SecondCounts::default() };
        for _ in on + 1..next {
            self.push(idle);
        }
    }

    fn push(&mut self, second: SecondCounts) {
        if self.recent.len() as u64 == RECENT_S {
            self.recent.pop_front();
        }
        self.recent.push_back(second);
        self.open.push(second);
        if self.open.len() as u64 == self.each_s {
            self.past.push(SecondCounts::joined(&self.open));
            self.open.clear();
        }
        if self.past.len() == KEPT {
            self.past = self.past.chunks(2).map(SecondCounts::joined).collect();
            self.each_s *= 2;
        }
    }

    /// Returns the run so far, oldest first. It also returns the seconds of each entry, and the rates over the last
    /// seconds.
    pub(super) fn so_far(&self) -> (Vec<SecondCounts>, u64, Option<LiveRates>) {
        (self.past.clone(), self.each_s, LiveRates::over(&self.recent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_counts_what_came_in_it_and_idle_ones_keep_the_levels() {
        let totals = |count: u64, level: u64| SecondCounts {
            released: 5 * count,
            completed: 4 * count,
            failed: count,
            met: 3 * count,
            tokens: 7 * count,
            in_flight: level,
            queued: level + 1,
            waiting: Some(level + 2),
            kv_permille: Some(level + 3),
            ..SecondCounts::default()
        };
        let mut seconds = RunSeconds::default();
        seconds.close(0, 1, &totals(10, 6));
        seconds.close(1, 4, &totals(12, 8));
        let (past, each_s, rates) = seconds.so_far();
        assert_eq!((past, each_s), (vec![totals(10, 6), totals(2, 8), totals(0, 8), totals(0, 8)], 1));
        let of_four = LiveRates { released: 15.0, completed: 12.0, failed: 3.0, met: 9.0, tokens: 21.0 };
        assert_eq!(rates, Some(of_four));
    }
}
