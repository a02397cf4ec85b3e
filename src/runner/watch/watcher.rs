//! Detects host stalls: a thread wakes some hundred times a second and notes how late it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::{Pacing, RunClock, Timestamp, start_thread};
use crate::record::HostStall;

/// Watches for host stalls; dropping it ends the watch.
pub(super) struct Watcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<HostStall>>>,
}

impl Watcher {
    /// Starts to watch on its own thread. The thread has a higher priority where the system allows it: then a late wake
    /// says something about the machine and not about its load, and nothing where the measuring threads could run.
    ///
    /// `beside` is called at each step, some hundred times a second, and must be quick.
    pub(super) fn start(clock: RunClock, pacing: Pacing, beside: impl FnMut(Timestamp) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = start_thread("watcher", move || {
            let _raised = pacing.raise_watcher();
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

/// How long the thread sleeps at a time. A sleep and a wake cost up to 14 µs on a virtual machine whose cores
/// are all busy, a fifth of that on an idle machine: under 0.5 % of a core.
const STEP: Duration = Duration::from_millis(3);

/// Lateness from which the host has stalled, without the wait for a core. Nothing else wakes a sleeping thread so late.
/// Timers and interrupts cost tens of microseconds, exits of a virtual machine some hundreds. A stall delays only what
/// falls due in it, so a stall of this plus one [`STEP`] is always seen.
const STALLED: Duration = Duration::from_millis(3);

/// Lateness from which the reason no longer matters. Among busy threads a woken one gets a core within a few
/// slices of about 3 ms. A longer wait means that all cores were taken, or that a CPU quota was used up,
/// which stops every thread of this process alike.
const STARVED: Duration = Duration::from_millis(20);

/// Lateness from which the run queue is read. It is that of one step or of several together: reading the queue at every
/// step would cost as much as the step. A late step has waited for a core no longer than it was late, so at most this
/// much of earlier waits is counted for the step that is judged.
const ASKED_FROM: Duration = Duration::from_millis(1);

/// Pauses kept: nobody reads more than 10,000, and the longest ones move the figures.
const KEPT: usize = 10_000;

/// The pauses of a run, found as a thread wakes.
#[derive(Debug, Default)]
struct HostStalls {
    last: Option<Timestamp>,
    /// Lateness since the run queue was last read.
    unasked: Duration,
    pauses: Vec<HostStall>,
}

impl HostStalls {
    /// Notes that the thread is awake `at`. It slept for [`STEP`] since the last call; `queued` returns how long it
    /// waited for a core since it was last read.
    ///
    /// Nobody knows where in the sleep the host stopped, so a pause begins when the thread was last awake: it
    /// is never shorter than the stall, and at most [`STEP`] longer.
    fn woke(&mut self, at: Timestamp, queued: impl FnOnce() -> Duration) {
        let Some(from) = self.last.replace(at) else { return };
        let length = at.since(from);
        let late = length.saturating_sub(STEP);
        self.unasked += late;
        if self.unasked < ASKED_FROM {
            return;
        }
        self.unasked = Duration::ZERO;
        let queued = queued();
        if late < STALLED || (late < STARVED && late.saturating_sub(queued) < STALLED) {
            return;
        }
        let length_ns = length.as_nanos() as u64;
        match self.pauses.last_mut() {
            Some(before) if before.until() == from => {
                before.longest_step_ns = Some(before.unbroken_ns().max(length_ns));
                before.length_ns += length_ns;
            }
            _ => self.pauses.push(HostStall { from, length_ns, longest_step_ns: None, shard: None }),
        }
        if self.pauses.len() == 2 * KEPT {
            self.keep_the_longest();
        }
    }

    /// The pauses in order: all of them, or the longest 10,000.
    fn finish(mut self) -> Vec<HostStall> {
        self.keep_the_longest();
        self.pauses
    }

    fn keep_the_longest(&mut self) {
        if self.pauses.len() > KEPT {
            self.pauses.select_nth_unstable_by_key(KEPT, |pause| std::cmp::Reverse(pause.length_ns));
            self.pauses.truncate(KEPT);
            self.pauses.sort_unstable_by_key(|pause| pause.from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    /// Returns the pauses in microseconds of a thread that woke at these times. Each wake comes after such a wait for a
    /// core.
    fn pauses(wakes: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut host_stalls = HostStalls::default();
        let mut waited = Duration::ZERO;
        for &(at, queued) in wakes {
            waited += Duration::from_micros(queued);
            host_stalls.woke(us(at), || std::mem::take(&mut waited));
        }
        let found = host_stalls.finish();
        found.iter().map(|pause| (pause.from.as_nanos() / 1_000, pause.length_ns / 1_000)).collect()
    }

    #[test]
    fn a_machine_that_runs_has_none() {
        let wakes: Vec<_> = (0..1_000).map(|step| (step * 3_080, 40)).collect();
        assert_eq!(pauses(&wakes), []);
        // A first wake has nothing before it, however late in the run it comes.
        assert_eq!(pauses(&[(500_000, 0), (503_000, 0)]), []);
        assert_eq!(pauses(&[]), []);
    }

    #[test]
    fn a_late_wake_is_a_pause_since_the_last_one() {
        assert_eq!(pauses(&[(0, 0), (3_000, 0), (303_000, 0), (306_000, 0)]), [(3_000, 300_000)]);
        // 3 ms late is the bar: a sleep of 3 ms that took 6 ms.
        assert_eq!(pauses(&[(0, 0), (6_000, 0)]), [(0, 6_000)]);
        assert_eq!(pauses(&[(0, 0), (5_999, 0)]), []);
    }

    #[test]
    fn waiting_for_a_core_is_no_stall_until_it_is_long() {
        assert_eq!(pauses(&[(0, 0), (11_000, 7_500)]), []);
        assert_eq!(pauses(&[(0, 0), (11_000, 4_000)]), [(0, 11_000)]);
        assert_eq!(pauses(&[(0, 0), (22_999, 19_900)]), []);
        assert_eq!(pauses(&[(0, 0), (23_000, 19_900)]), [(0, 23_000)]);
    }

    #[test]
    fn what_was_waited_before_does_not_hide_a_stall() {
        // Fifteen steps of a busy machine, each 2 ms late for want of a core, then a stall of 10 ms.
        let mut wakes: Vec<_> = (0..=15).map(|step| (step * 5_000, 2_000)).collect();
        wakes.push((88_000, 0));
        assert_eq!(pauses(&wakes), [(75_000, 13_000)]);
        // Waits too short to be read may shorten it by a millisecond.
        let mut wakes: Vec<_> = (0..=15).map(|step| (step * 3_060, 60)).collect();
        wakes.push((45_900 + 3_000 + 4_000, 0));
        assert_eq!(pauses(&wakes), [(45_900, 7_000)]);
    }

    #[test]
    fn a_wait_of_a_millisecond_is_read_at_once() {
        assert_eq!(pauses(&[(0, 0), (4_000, 1_000), (10_500, 0)]), [(4_000, 6_500)]);
    }

    #[test]
    fn what_stops_the_watching_thread_is_found() {
        let (stepped, steps) = std::sync::mpsc::channel();
        let watcher = Watcher::start(RunClock::starting_in(Duration::ZERO), Pacing::Timer, move |_| {
            std::thread::sleep(Duration::from_millis(30));
            let _ = stepped.send(());
        });
        (0..2).for_each(|_| steps.recv().unwrap());
        let found = watcher.finish();
        assert!(found.first().is_some_and(|stall| stall.length_ns >= 30_000_000), "{found:?}");
    }

    /// Checks that a woken thread has waited for its core. Where the system counts it, it always has, if only for some
    /// microseconds.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_wait_for_a_core_is_reported_once() {
        let counted = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
            Duration::from_nanos(text.split(' ').nth(1).map_or(0, |nanos| nanos.parse().unwrap()))
        };
        let mut queue = RunQueue::open();
        let mut waited = queue.so_far;
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
            let before = counted();
            waited += queue.waited();
            let after = counted();
            assert!((before..=after).contains(&waited), "{before:?} {waited:?} {after:?}");
        }
    }

    #[test]
    fn neighbours_are_one_pause() {
        let wakes = [(0, 0), (10_000, 0), (30_000, 0), (33_000, 0), (43_000, 0)];
        assert_eq!(pauses(&wakes), [(0, 30_000), (33_000, 10_000)]);
        let mut host_stalls = HostStalls::default();
        for &(at, _) in &wakes {
            host_stalls.woke(us(at), || Duration::ZERO);
        }
        let unbroken: Vec<_> = host_stalls.finish().iter().map(HostStall::unbroken_ns).collect();
        assert_eq!(unbroken, [20_000_000, 10_000_000]);
    }

    #[test]
    fn the_longest_are_kept_in_order() {
        // Pauses of 10 ms, every third of 15 ms, each followed by a sleep that is not late.
        let mut wakes = vec![(0, 0)];
        for pause in 0..30_000 {
            let from = wakes[wakes.len() - 1].0 + 3_000;
            let length = if pause % 3 == 0 { 15_000 } else { 10_000 };
            wakes.extend([(from, 0), (from + length, 0)]);
        }
        let found = pauses(&wakes);
        assert_eq!(found.len(), KEPT);
        assert!(found.is_sorted());
        assert!(found.iter().all(|&(_, length)| length == 15_000));
    }
}
