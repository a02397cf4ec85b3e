//! Real-time threads of Linux, and the guard that gives them their normal priority back when one does not rest.
//!
//! Beside other work a normal thread waits milliseconds for a core. A real-time thread runs at once and for as long as
//! it wants: one that never blocks would freeze its core. The kernel counts how long each runs without blocking
//! (`RLIMIT_RTTIME`). At half a second it sends `SIGXCPU`, and the guard, whose own priority is higher, makes all of them
//! normal. Nothing is killed: only the soft limit is set, and the hard limit must leave room.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};
use rustix::thread::gettid;
use signal_hook::consts::SIGXCPU;
use signal_hook::iterator::Signals;
use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadId, ThreadPriority, ThreadPriorityValue,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

use super::priority::Rank;

/// Longest time that a real-time thread may run without blocking, microseconds.
const MOST_US: u64 = 500_000;
/// At its hard limit the kernel kills a process: one that comes so soon is none to take a risk with, microseconds.
const LEAST_HARD_US: u64 = 5_000_000;

static OVERRUNS: AtomicU64 = AtomicU64::new(0);
static RAISED: Mutex<Raised> = Mutex::new(Raised { threads: Vec::new(), limit: None });

/// All real-time threads of this process.
struct Raised {
    threads: Vec<ThreadId>,
    /// The limit before there were any.
    limit: Option<Rlimit>,
}

/// The calling thread is one of real time until this is dropped, which is on the same thread.
#[derive(Debug)]
pub(super) struct RealTime {
    level: u8,
    thread: ThreadId,
    /// The thread's niceness, which a change of its policy may touch.
    nice: Option<i32>,
}

impl RealTime {
    /// Raises the calling thread; `None` where the system does not permit it, or could kill the process for it.
    pub(super) fn take(rank: Rank) -> Option<Self> {
        if !is_guarded() {
            return None;
        }
        let mut raised = lock();
        let limit = *raised.limit.get_or_insert_with(|| getrlimit(Resource::Rttime));
        let given = (limit.maximum.is_none_or(|hard| hard >= LEAST_HARD_US)
            && set_limit(limit.current.map_or(MOST_US, |soft| soft.min(MOST_US)), limit))
        .then(|| {
            let nice = getpriority_process(Some(gettid())).ok();
            raise(rank).then(|| Self { level: rank.level(), thread: thread_native_id(), nice })
        })
        .flatten();
        raised.threads.extend(given.as_ref().map(|given| given.thread));
        raised.rest();
        given
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        let mut raised = lock();
        lower(self.thread);
        raised.threads.retain(|thread| *thread != self.thread);
        raised.rest();
        if let Some(nice) = self.nice {
            let _ = setpriority_process(Some(gettid()), nice);
        }
    }
}

impl Raised {
    /// Restores the limit when the last thread has gone: children of this process inherit it.
    fn rest(&mut self) {
        if self.threads.is_empty()
            && let Some(limit) = self.limit.take()
        {
            let _ = setrlimit(Resource::Rttime, limit);
        }
    }
}

/// The kernel moves the soft limit on by a second with each signal, so it is set anew for each thread.
fn set_limit(soft: u64, limit: Rlimit) -> bool {
    setrlimit(Resource::Rttime, Rlimit { current: Some(soft), maximum: limit.maximum }).is_ok()
}

/// Makes the calling thread one of real time.
fn raise(rank: Rank) -> bool {
    let Ok(level) = ThreadPriorityValue::try_from(rank.level()) else { return false };
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let set =
        set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(level), policy);
    set.inspect_err(|error| tracing::debug!("no real-time priority: {error}")).is_ok()
}

/// Makes a thread normal. It must still run: it is in the list, or the calling one.
fn lower(thread: ThreadId) {
    // In this crate's measure niceness 0. It is that of the calling thread which is set, and only after the policy.
    let Ok(middle) = ThreadPriorityValue::try_from(48) else { return };
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    let set = set_thread_priority_and_policy(thread, ThreadPriority::Crossplatform(middle), policy);
    if let Err(error) = set {
        tracing::debug!("a thread's niceness is not set: {error}");
    }
}

/// Whether the guard waits for the kernel's signal; it is started when it is first needed.
fn is_guarded() -> bool {
    static GUARDED: OnceLock<bool> = OnceLock::new();
    *GUARDED.get_or_init(|| {
        let (ready, begun) = mpsc::channel();
        let guard = std::thread::Builder::new().name("priority guard".to_owned());
        guard.spawn(move || stand_guard(&ready)).is_ok() && begun.recv().unwrap_or(false)
    })
}

fn stand_guard(ready: &mpsc::Sender<bool>) {
    let mut signals = raise(Rank::Guarding).then(|| Signals::new([SIGXCPU]).ok()).flatten();
    let _ = ready.send(signals.is_some());
    for _ in signals.iter_mut().flat_map(Signals::forever) {
        OVERRUNS.fetch_add(1, Relaxed);
        lock().threads.iter().for_each(|thread| lower(*thread));
        tracing::warn!(
            "a real-time thread ran for {} s without a rest: the run goes on at normal priority",
            MOST_US as f64 / 1e6
        );
    }
}

/// How often the guard had to act.
pub(super) fn overruns() -> u64 {
    OVERRUNS.load(Relaxed)
}

/// A panic elsewhere leaves the list valid.
fn lock() -> MutexGuard<'static, Raised> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner)
}
