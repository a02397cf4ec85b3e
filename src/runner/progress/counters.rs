//! The live counters of a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::live_histogram::LiveHistogram;
use super::snapshot::{LiveRates, RECENT_S, RecentSeconds, SecondCounts, Snapshot, WindowCounts};
use crate::clock::Timestamp;
use crate::record::{FailureKind, Outcome, Phase, RequestRecord, ServerState};

/// Live counters of one run. The report's figures never come from here: they are computed from the records.
///
/// The run loop's thread writes nearly all of them; the screen's thread reads them five times a second. So a
/// counter is an atomic, and the locks are almost never contended.
#[derive(Debug, Default)]
pub struct Progress {
    released: AtomicU64,
    started: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    censored: AtomicU64,
    tokens: AtomicU64,
    /// The current second of the run.
    second: AtomicU64,
    seconds: Mutex<RecentSeconds>,
    ttft: Mutex<LiveHistogram>,
    itl: Mutex<LiveHistogram>,
    tpot: Mutex<LiveHistogram>,
    e2e: Mutex<LiveHistogram>,
    schedule_lag: Mutex<LiveHistogram>,
    measured: Mutex<WindowCounts>,
    failures: Mutex<BTreeMap<FailureKind, u64>>,
    server: Mutex<ServerState>,
    stopped: OnceLock<Timestamp>,
}

/// What a thread has counted stays valid when another thread panics.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn nanos(earlier: Timestamp, later: Timestamp) -> u64 {
    later.as_nanos().saturating_sub(earlier.as_nanos())
}

impl Progress {
    /// A request was dispatched at `at`.
    pub(crate) fn released(&self, at: Timestamp, scheduled: Timestamp, phase: Phase) {
        let second = self.advance(at);
        self.released.fetch_add(1, Relaxed);
        held(&self.schedule_lag).record(second, nanos(scheduled, at), 1, phase);
        if phase == Phase::Measured {
            held(&self.measured).released += 1;
        }
    }

    pub(crate) fn started(&self) {
        self.started.fetch_add(1, Relaxed);
    }

    /// A request that waited under the concurrency cap will not be sent.
    pub(crate) fn given_up(&self) {
        self.started();
        self.censored.fetch_add(1, Relaxed);
    }

    /// The first tokens of an answer came at `at`.
    pub(crate) fn first_tokens(&self, at: Timestamp, tokens: u32, scheduled: Timestamp, phase: Phase) {
        let second = self.advance(at);
        self.tokens.fetch_add(u64::from(tokens), Relaxed);
        held(&self.ttft).record(second, nanos(scheduled, at), 1, phase);
    }

    /// More tokens came at `at`, after those at `last`. The gap is divided by their number: one inter-token
    /// latency each.
    pub(crate) fn more_tokens(&self, at: Timestamp, tokens: u32, last: Timestamp, phase: Phase) {
        let second = self.advance(at);
        self.tokens.fetch_add(u64::from(tokens), Relaxed);
        let each = nanos(last, at) / u64::from(tokens.max(1));
        held(&self.itl).record(second, each, tokens, phase);
    }

    pub(crate) fn ended(&self, record: &RequestRecord) {
        let second = self.advance(record.ended);
        match &record.outcome {
            Outcome::Completed => {
                self.completed.fetch_add(1, Relaxed);
                self.completed_in(second, record);
            }
            Outcome::Failed(failure) => {
                self.failed.fetch_add(1, Relaxed);
                *held(&self.failures).entry(failure.reason).or_default() += 1;
                if record.phase == Phase::Measured {
                    held(&self.measured).failed(failure.reason);
                }
            }
            Outcome::Censored => {
                self.censored.fetch_add(1, Relaxed);
            }
        }
    }

    /// Latencies that only a complete answer has.
    fn completed_in(&self, second: u64, record: &RequestRecord) {
        if record.phase == Phase::Measured {
            held(&self.measured).completed += 1;
        }
        if let Some(last) = record.chunks.last_at().or(record.whole_answer) {
            held(&self.e2e).record(second, nanos(record.scheduled, last), 1, record.phase);
        }
        let rest = record.output_tokens.saturating_sub(1);
        if let (Some(first), Some(last), 1..) = (record.chunks.first_at(), record.chunks.last_at(), rest) {
            held(&self.tpot).record(second, nanos(first, last) / rest, 1, record.phase);
        }
    }

    /// The latest state of the server; what it no longer reports is dropped.
    pub fn server_reported(&self, state: ServerState) {
        *held(&self.server) = state;
    }

    /// The user stopped the run at `at`: nothing more is dispatched.
    pub(crate) fn stopped(&self, at: Timestamp) {
        self.stopped.get_or_init(|| at);
    }

    /// The second of `at`, or the current one if that is later. When a new second begins, the earlier ones
    /// are closed.
    fn advance(&self, at: Timestamp) -> u64 {
        let second = at.as_nanos() / 1_000_000_000;
        let on = self.second.load(Relaxed);
        if second <= on {
            return on;
        }
        let mut seconds = held(&self.seconds);
        let on = self.second.load(Relaxed);
        if second > on {
            let ttft_p99 = held(&self.ttft).p99_in(on);
            seconds.close(on, second, &self.totals(), ttft_p99);
            self.second.store(second, Relaxed);
        }
        second.max(on)
    }

    fn totals(&self) -> SecondCounts {
        let [released, started, completed, failed, censored, tokens] =
            [&self.released, &self.started, &self.completed, &self.failed, &self.censored, &self.tokens]
                .map(|counter| counter.load(Relaxed));
        let in_flight = started.saturating_sub(completed + failed + censored);
        let queued = released.saturating_sub(started);
        SecondCounts { released, completed, failed, tokens, in_flight, queued, ttft_p99: None }
    }

    /// The state at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let second = self.advance(now);
        let totals = self.totals();
        let seconds = held(&self.seconds).past();
        let latency = |times: &Mutex<LiveHistogram>| held(times).seen_in(second);
        let mut failures: Vec<_> = held(&self.failures).iter().map(|(kind, count)| (*kind, *count)).collect();
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Snapshot {
            released: totals.released,
            in_flight: totals.in_flight,
            queued: totals.queued,
            completed: totals.completed,
            failed: totals.failed,
            tokens: totals.tokens,
            measured: *held(&self.measured),
            rates: LiveRates::over(&seconds, RECENT_S as usize),
            ttft: latency(&self.ttft),
            itl: latency(&self.itl),
            tpot: latency(&self.tpot),
            e2e: latency(&self.e2e),
            schedule_lag: latency(&self.schedule_lag),
            failures,
            server: held(&self.server).clone().at(now),
            stopped: self.stopped.get().copied(),
            seconds,
        }
    }
}
