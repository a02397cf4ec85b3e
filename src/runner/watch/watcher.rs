//! The thread that wakes some hundred times a second to detect host stalls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use super::host_stalls::{HostStalls, STEP};
use crate::clock::{RunClock, Timestamp};
use crate::record::HostStall;

/// Watches for host stalls; dropping it ends the watch.
#[derive(Debug)]
pub(super) struct Watcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<HostStall>>>,
}

impl Watcher {
    /// Starts to watch on its own thread, with a higher priority where the system allows it.
    ///
    /// `beside` is called at each step, some hundred times a second, and must be quick.
    pub(super) fn start(clock: RunClock, beside: impl FnMut(Timestamp) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
            go_first();
            watch(clock, &stopped, beside)
        });
        let thread = thread.inspect_err(|error| tracing::warn!("host stalls are not detected: {error}")).ok();
        Self { stop, thread }
    }

    /// The pauses so far; the watch ends within one step.
    pub(super) fn finish(mut self) -> Vec<HostStall> {
        self.stop.store(true, Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(pauses)) => pauses,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Vec::new(),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

fn watch(clock: RunClock, stop: &AtomicBool, mut beside: impl FnMut(Timestamp)) -> Vec<HostStall> {
    let mut stalls = HostStalls::default();
    let mut queue = RunQueue::open();
    loop {
        let now = clock.now();
        stalls.woke(now, || queue.waited());
        beside(now);
        if stop.load(Relaxed) {
            break;
        }
        std::thread::sleep(STEP);
    }
    stalls.finish()
}

/// How long this thread waited for a core, as Linux counts it; zero elsewhere.
struct RunQueue {
    #[cfg(target_os = "linux")]
    file: Option<std::fs::File>,
    so_far: Duration,
}

#[cfg(target_os = "linux")]
impl RunQueue {
    /// The counter of the calling thread.
    fn open() -> Self {
        let file = std::fs::File::open("/proc/thread-self/schedstat");
        let mut queue = Self { file: file.ok(), so_far: Duration::ZERO };
        queue.waited();
        queue
    }

    /// The wait since the last call.
    fn waited(&mut self) -> Duration {
        let now = self.read().unwrap_or(self.so_far);
        now.saturating_sub(std::mem::replace(&mut self.so_far, now))
    }

    /// The second of the file's three fields: nanoseconds on the run queue.
    fn read(&self) -> Option<Duration> {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 96];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }
}

#[cfg(not(target_os = "linux"))]
impl RunQueue {
    fn open() -> Self {
        Self { so_far: Duration::ZERO }
    }

    fn waited(&mut self) -> Duration {
        self.so_far
    }
}

/// Raises this thread's priority, so that a late wake says something about the machine and not about its
/// load. Most users may not; the watch then runs at the normal priority.
#[cfg(target_os = "linux")]
fn go_first() {
    let this_thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(this_thread), -20) {
        tracing::debug!("the watcher runs at normal priority: {error}");
    }
}

/// Elsewhere a thread's priority is not a number.
#[cfg(not(target_os = "linux"))]
fn go_first() {}
