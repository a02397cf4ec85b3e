//! The live counters of a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::live_histogram::LiveHistogram;
use super::snapshot::{RunSeconds, SecondCounts, Snapshot, WindowCounts};
use crate::analysis::{LoadForm, RequestLatency, SloOutcome};
use crate::clock::Timestamp;
use crate::record::{FailureKind, Gauge, Outcome, Phase, RequestRecord, ServerState};
use crate::workload::Slo;

/// Live counters of one run. The report's figures never come from here: they are computed from the records.
///
/// The run loop's thread writes nearly all of them; the screen's thread reads them five times a second. So a
/// counter is an atomic, and the locks are almost never contended.
#[derive(Debug, Default)]
pub struct Progress {
    /// The form of the load, which says from when latencies count.
    form: LoadForm,
    released: AtomicU64,
    started: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    censored: AtomicU64,
    met: AtomicU64,
    tokens: AtomicU64,
    /// The current second of the run.
    second: AtomicU64,
    seconds: Mutex<RunSeconds>,
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

/// Locks counts, which stay valid when another thread panics.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn nanos(earlier: Timestamp, later: Timestamp) -> u64 {
    later.as_nanos().saturating_sub(earlier.as_nanos())
}

impl Progress {
    /// Counters of a run whose load has this form.
    pub fn from_form(form: LoadForm) -> Self {
        Self { form, ..Self::default() }
    }

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

    /// The first tokens of an answer to this request came at `at`.
    pub(crate) fn first_tokens(&self, at: Timestamp, tokens: u32, record: &RequestRecord) {
        let second = self.advance(at);
        self.tokens.fetch_add(u64::from(tokens), Relaxed);
        if !record.leaves {
            held(&self.ttft).record(second, nanos(self.form.begin_of(record), at), 1, record.phase);
        }
    }

    /// Notes that the first tokens of an attempt came at `at`. It may yet fail and be followed by another: no TTFT so
    /// far.
    pub(crate) fn attempt_began(&self, at: Timestamp, tokens: u32) {
        self.advance(at);
        self.tokens.fetch_add(u64::from(tokens), Relaxed);
    }

    /// Notes that the request of `record` has its answer. There may have been several attempts: that one counts.
    pub(crate) fn answer_kept(&self, record: &RequestRecord) {
        let second = self.advance(record.ended);
        if let Some(first) = record.chunks.first_at() {
            held(&self.ttft).record(second, nanos(self.form.begin_of(record), first), 1, record.phase);
        }
    }

    /// More tokens came at `at`, after those at `last`. The gap is divided by their number: one inter-token
    /// latency each.
    pub(crate) fn more_tokens(&self, at: Timestamp, tokens: u32, last: Timestamp, phase: Phase) {
        let second = self.advance(at);
        self.tokens.fetch_add(u64::from(tokens), Relaxed);
        let each = nanos(last, at) / u64::from(tokens.max(1));
        held(&self.itl).record(second, each, tokens, phase);
    }

    /// The request of `record` ended; this is its SLO.
    pub(crate) fn ended(&self, record: &RequestRecord, slo: Slo) {
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
            Outcome::Cancelled | Outcome::Censored => {
                self.censored.fetch_add(1, Relaxed);
            }
        }
        self.judge(record, slo);
    }

    /// Counts whether the request met its SLO, where it has one that can be measured.
    fn judge(&self, record: &RequestRecord, slo: Slo) {
        if record.leaves {
            return;
        }
        let latency = (record.outcome == Outcome::Completed).then(|| RequestLatency::new(record, self.form));
        let judge = if record.whole_answer.is_some() { SloOutcome::of_whole_answer } else { SloOutcome::new };
        let Some(met) = judge(slo, latency.as_ref()).is_met() else { return };
        self.met.fetch_add(u64::from(met), Relaxed);
        if record.phase == Phase::Measured {
            let mut measured = held(&self.measured);
            measured.with_slo += 1;
            measured.met += u64::from(met);
        }
    }

    /// Latencies that only a complete answer has.
    fn completed_in(&self, second: u64, record: &RequestRecord) {
        if record.phase == Phase::Measured {
            held(&self.measured).completed += 1;
        }
        if record.leaves {
            return;
        }
        if let Some(last) = record.chunks.last_at().or(record.whole_answer) {
            held(&self.e2e).record(second, nanos(self.form.begin_of(record), last), 1, record.phase);
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
            let [ttft, tpot, e2e] = [&self.ttft, &self.tpot, &self.e2e].map(|times| held(times).middle_and_end(on));
            let (waiting, kv_permille) = self.server_at(at);
            let totals = SecondCounts { ttft, tpot, e2e, waiting, kv_permille, ..self.totals() };
            seconds.close(on, second, &totals);
            self.second.store(second, Relaxed);
        }
        second.max(on)
    }

    /// Returns the server's waiting requests, and thousandths of its key-value cache in use. Both are as far as it
    /// reports them.
    fn server_at(&self, now: Timestamp) -> (Option<u64>, Option<u64>) {
        let server = held(&self.server);
        let is_fresh = server.until.is_none_or(|until| until >= now);
        let gauge = |gauge: Gauge| server.gauges.get(&gauge).copied().filter(|_| is_fresh);
        let whole = |value: f64| value.max(0.0).round() as u64;
        (gauge(Gauge::Waiting).map(whole), gauge(Gauge::KvUsage).map(|usage| whole(usage * 1e3)))
    }

    fn totals(&self) -> SecondCounts {
        let counters = [&self.released, &self.started, &self.completed, &self.failed, &self.censored, &self.met];
        let [released, started, completed, failed, censored, met] = counters.map(|counter| counter.load(Relaxed));
        let tokens = self.tokens.load(Relaxed);
        let in_flight = started.saturating_sub(completed + failed + censored);
        let queued = released.saturating_sub(started);
        SecondCounts { released, completed, failed, met, tokens, in_flight, queued, ..SecondCounts::default() }
    }

    /// The counts of the whole run, and the levels at `now`.
    pub(crate) fn counts(&self, now: Timestamp) -> SecondCounts {
        SecondCounts { waiting: self.server_at(now).0, ..self.totals() }
    }

    /// The state at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let second = self.advance(now);
        let totals = self.totals();
        let (seconds, each_s, rates) = held(&self.seconds).so_far();
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
            rates,
            ttft: latency(&self.ttft),
            itl: latency(&self.itl),
            tpot: latency(&self.tpot),
            e2e: latency(&self.e2e),
            schedule_lag: latency(&self.schedule_lag),
            failures,
            server: held(&self.server).clone().at(now),
            stopped: self.stopped.get().copied(),
            seconds,
            each_s,
        }
    }
}
