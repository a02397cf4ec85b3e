//! Raises threads that must not be late: to real time where the system permits it, else to nice −20.
//!
//! Beside other work a normal thread waits milliseconds for a core. A real-time thread runs at once, and for as long as
//! it wants: one that never blocks would freeze its core. Linux counts how long each runs without blocking
//! (`RLIMIT_RTTIME`). At half a second it sends `SIGXCPU`, and a guard, whose own priority is higher, makes all of them
//! normal. Nothing is killed: only the soft limit is set, and the hard limit must leave room.
//!
//! Threads and processes inherit the priority of the thread that starts them. So a thread raises itself, and it starts
//! nothing while it is raised. Processes inherit the limit too, whoever starts them: see [`with_users_limit`].

use std::marker::PhantomData;

use super::pacing::Pacing;

impl Pacing {
    /// Raises the calling thread, which sends, reads or keeps time, until the result is dropped.
    pub(crate) fn raise(self) -> RaisedPriority {
        self.raise_to(5)
    }

    /// Raises the calling thread, which keeps the moments of requests, above those that read.
    pub(crate) fn raise_pacer(self) -> RaisedPriority {
        self.raise_to(6)
    }

    /// Raises the calling thread, which watches whether the others can run, above them.
    pub(crate) fn raise_watcher(self) -> RaisedPriority {
        match self {
            Self::RealTime => self.raise_to(6),
            Self::Precise | Self::Timer => RaisedPriority::nice(),
        }
    }

    /// Returns the priority that threads which measure get here, found by trying. It is `fifo 5`, `nice -20` or
    /// `normal`.
    pub(crate) fn priority(self) -> String {
        self.raise().name()
    }

    fn raise_to(self, level: u8) -> RaisedPriority {
        let raised = |level, nice| RaisedPriority { level, nice, thread: PhantomData };
        if self != Self::RealTime {
            return raised(None, None);
        }
        // What the user gave to the whole process (`chrt`) stays.
        if let Some(level) = system::real_time() {
            return raised(Some(level), None);
        }
        system::raise(level).map_or_else(RaisedPriority::nice, |nice| raised(Some(level), Some(nice)))
    }
}

/// The calling thread has a higher priority until this is dropped.
#[must_use = "the priority ends with this"]
#[derive(Debug)]
pub(crate) struct RaisedPriority {
    /// Its real-time priority.
    level: Option<u8>,
    /// Its niceness before, if that or the priority was raised here.
    nice: Option<i32>,
    /// Bound to its thread.
    thread: PhantomData<*const ()>,
}

/// The niceness of a thread that cannot be one of real time.
const FIRST: i32 = -20;

impl RaisedPriority {
    fn nice() -> Self {
        Self { level: None, nice: system::renice(FIRST), thread: PhantomData }
    }

    fn name(&self) -> String {
        match (self.level, self.nice) {
            (Some(level), _) => format!("fifo {level}"),
            (None, Some(_)) => format!("nice {FIRST}"),
            (None, None) => "normal".to_owned(),
        }
    }
}

impl Drop for RaisedPriority {
    fn drop(&mut self) {
        let Some(before) = self.nice else { return };
        if self.level.is_some() {
            system::lower();
        }
        system::renice(before);
    }
}

/// Returns how often this process's real-time threads lost their priority. They get their normal priority back when one
/// does not rest.
pub(crate) fn overruns() -> u64 {
    system::overruns()
}

/// Calls what starts a process, with the user's own limit of real time. A process that has real-time threads of its own
/// would be killed at that of this one.
pub(crate) fn with_users_limit<T>(start: impl FnOnce() -> T) -> T {
    system::with_users_limit(start)
}

/// Elsewhere a thread's priority is not a number, and threads stay as they are.
#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn real_time() -> Option<u8> {
        None
    }

    pub(super) fn raise(_level: u8) -> Option<i32> {
        None
    }

    pub(super) fn lower() {}

    pub(super) fn renice(_to: i32) -> Option<i32> {
        None
    }

    pub(super) fn overruns() -> u64 {
        0
    }

    pub(super) fn with_users_limit<T>(start: impl FnOnce() -> T) -> T {
        start()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

    use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};
    use rustix::thread::gettid;
    use signal_hook::consts::SIGXCPU;
    use signal_hook::iterator::Signals;
    use thread_priority::{
        NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadId, ThreadPriority, ThreadPriorityValue,
        ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id, thread_schedule_policy_param,
    };

    /// Longest time that a real-time thread may run without blocking, microseconds.
    const MOST_US: u64 = 500_000;
    /// At its hard limit the kernel kills a process. Where it would come so soon, nothing is risked; microseconds.
    const LEAST_HARD_US: u64 = 5_000_000;
    /// Priority of the guard, above those of all that it guards.
    const GUARD: u8 = 7;

    static OVERRUNS: AtomicU64 = AtomicU64::new(0);
    static REAL_TIME: Mutex<RealTime> = Mutex::new(RealTime { threads: Vec::new(), limit: None });

    /// All real-time threads of this process.
    struct RealTime {
        /// Their ids as numbers: those of musl are pointers, which cannot be shared.
        threads: Vec<usize>,
        /// The limit before there were any.
        limit: Option<Rlimit>,
    }

    /// The real-time priority of the calling thread, if it has one.
    pub(super) fn real_time() -> Option<u8> {
        let (policy, parameters) = thread_schedule_policy_param(thread_native_id()).ok()?;
        let level = u8::try_from(parameters.sched_priority).ok();
        level.filter(|_| policy == ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo))
    }

    /// Puts the calling thread into real time and returns its niceness. A change of its policy may touch the niceness.
    /// The result is `None` where the system does not permit it, or could kill the process for it.
    pub(super) fn raise(level: u8) -> Option<i32> {
        let has_room = getrlimit(Resource::Rttime).maximum.is_none_or(|hard| hard >= LEAST_HARD_US);
        if !has_room || !is_guarded() {
            return None;
        }
        let nice = getpriority_process(Some(gettid())).ok()?;
        // Before the lock is taken: beside a thread that runs away, a normal one might hold it for ever.
        if !set_real_time(level) {
            return None;
        }
        let mut all = lock();
        all.threads.push(thread_native_id() as usize);
        let limit = *all.limit.get_or_insert_with(|| getrlimit(Resource::Rttime));
        let is_limited = set_limit(limit);
        drop(all);
        if !is_limited {
            lower();
        }
        is_limited.then_some(nice)
    }

    /// Makes the calling thread, which is one of real time, normal.
    pub(super) fn lower() {
        let this = thread_native_id();
        let mut all = lock();
        all.threads.retain(|thread| *thread != this as usize);
        all.restore_limit();
        drop(all);
        set_normal(this);
    }

    /// Sets the niceness of the calling thread and returns what it was. It is `None` where that is not permitted.
    pub(super) fn renice(to: i32) -> Option<i32> {
        let this = Some(gettid());
        let set = getpriority_process(this).and_then(|before| setpriority_process(this, to).map(|()| before));
        set.inspect_err(|error| tracing::debug!("a thread keeps its niceness: {error}")).ok()
    }

    /// Returns how often the guard had to act.
    pub(super) fn overruns() -> u64 {
        OVERRUNS.load(Relaxed)
    }

    /// Calls `start` with the limit that the user set.
    pub(super) fn with_users_limit<T>(start: impl FnOnce() -> T) -> T {
        let all = lock();
        let Some(limit) = all.limit else { return start() };
        let _ = setrlimit(Resource::Rttime, limit);
        let started = start();
        set_limit(limit);
        started
    }

    impl RealTime {
        /// Restores the limit when the last thread has gone.
        fn restore_limit(&mut self) {
            if self.threads.is_empty()
                && let Some(limit) = self.limit.take()
            {
                let _ = setrlimit(Resource::Rttime, limit);
            }
        }
    }

    /// Sets the limit of real time, anew for each thread. The kernel moves the soft limit on by a second with each
    /// signal.
    fn set_limit(Rlimit { current, maximum }: Rlimit) -> bool {
        let soft = current.map_or(MOST_US, |soft| soft.min(MOST_US));
        setrlimit(Resource::Rttime, Rlimit { current: Some(soft), maximum }).is_ok()
    }

    /// Makes the calling thread one of real time.
    fn set_real_time(level: u8) -> bool {
        let Ok(level) = ThreadPriorityValue::try_from(level) else { return false };
        let (level, policy) = (ThreadPriority::Crossplatform(level), RealtimeThreadSchedulePolicy::Fifo);
        let policy = ThreadSchedulePolicy::Realtime(policy);
        let set = set_thread_priority_and_policy(thread_native_id(), level, policy);
        set.inspect_err(|error| tracing::debug!("no real-time priority: {error}")).is_ok()
    }

    /// Makes a thread normal. It must still run: it is the calling one, or in the list, which it leaves before it ends.
    fn set_normal(thread: ThreadId) {
        // Niceness 0 by the measure of that library, which sets it last, and for the calling thread.
        let Ok(middle) = ThreadPriorityValue::try_from(48) else { return };
        let (middle, policy) = (ThreadPriority::Crossplatform(middle), NormalThreadSchedulePolicy::Other);
        let set = set_thread_priority_and_policy(thread, middle, ThreadSchedulePolicy::Normal(policy));
        if let Err(error) = set {
            tracing::debug!("a thread's niceness is not set: {error}");
        }
    }

    /// Whether the guard waits for the kernel's signal. It is started when it is first needed.
    fn is_guarded() -> bool {
        static GUARDED: OnceLock<bool> = OnceLock::new();
        *GUARDED.get_or_init(|| {
            let (ready, begun) = mpsc::channel();
            let guard = std::thread::Builder::new().name("priority guard".to_owned());
            guard.spawn(move || stand_guard(&ready)).is_ok() && begun.recv().unwrap_or(false)
        })
    }

    fn stand_guard(ready: &mpsc::Sender<bool>) {
        let mut signals = set_real_time(GUARD).then(|| Signals::new([SIGXCPU]).ok()).flatten();
        let _ = ready.send(signals.is_some());
        for _ in signals.iter_mut().flat_map(Signals::forever) {
            OVERRUNS.fetch_add(1, Relaxed);
            lock().threads.iter().for_each(|thread| set_normal(*thread as ThreadId));
            tracing::warn!(
                "a real-time thread ran for {} s without a rest: the run goes on at normal priority",
                MOST_US as f64 / 1e6
            );
        }
    }

    /// A panic elsewhere leaves the list valid.
    fn lock() -> MutexGuard<'static, RealTime> {
        REAL_TIME.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
