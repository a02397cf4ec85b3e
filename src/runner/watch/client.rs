//! Collects what happened on this machine during a run, and samples once a second what this process uses.

use std::time::Duration;

use tokio::runtime::Handle;

use super::loop_delay::{Longest, LoopDelay};
use super::usage::{CpuTime, Thread, memory_bytes, peak_memory_bytes, retransmits};
use super::watcher::Watcher;
use crate::clock::{Pacing, RunClock, Timestamp, asleep, overruns};
use crate::record::{ClientFacts, ClientSample, Delays};

/// Monitors this process and its machine.
pub(crate) struct ClientWatch {
    watcher: Watcher,
    /// The threads that must not be late.
    loops: Vec<WatchedLoop>,
    before: CpuTime,
    overruns: u64,
    asleep: Option<i128>,
}

impl ClientWatch {
    /// Starts to watch the threads of these runtimes. It is `None` where the system reports too little. Gives
    /// a sample each second to `samples`, if any.
    pub(crate) async fn start(
        clock: RunClock,
        pacing: Pacing,
        runtimes: Vec<Handle>,
        samples: Option<Box<dyn FnMut(ClientSample) + Send>>,
    ) -> Option<Self> {
        let before = CpuTime::now()?;
        let longest = Longest::default();
        let mut loops = Vec::new();
        for runtime in runtimes {
            loops.push(WatchedLoop::start(runtime, clock, longest.clone()).await?);
        }
        let threads = loops.iter().map(|watched| watched.thread).collect();
        let mut meter = samples.map(|samples| Meter::new(before, threads, longest, samples));
        let look = move |now| meter.iter_mut().for_each(|meter: &mut Meter| meter.look(now));
        let watcher = Watcher::start(clock, pacing, look);
        Some(Self { watcher, loops, before, overruns: overruns(), asleep: asleep() })
    }

    /// Ends the watch and returns what was seen. Of several threads it is the worst.
    pub(crate) async fn finish(self) -> Option<ClientFacts> {
        let after = CpuTime::now()?;
        let (mut loop_cpu_ns, mut loop_delay) = (0, None);
        for watched in self.loops {
            let (cpu_ns, delays) = watched.finish().await?;
            loop_cpu_ns = loop_cpu_ns.max(cpu_ns);
            loop_delay = loop_delay.into_iter().chain(delays).reduce(Delays::joined);
        }
        Some(ClientFacts {
            cpu_ns: after.process_ns.saturating_sub(self.before.process_ns),
            readers: None,
            loop_cpu_ns,
            loop_delay,
            read_delay: None,
            stream_reads: None,
            host_stalls: self.watcher.finish(),
            slept_ns: slept(self.asleep, asleep()),
            peak_memory_bytes: peak_memory_bytes(),
            priority_lost: overruns() > self.overruns,
        })
    }
}

/// A thread with a runtime that must not be late.
struct WatchedLoop {
    runtime: Handle,
    thread: Thread,
    before_ns: u64,
    delay: LoopDelay,
}

impl WatchedLoop {
    async fn start(runtime: Handle, clock: RunClock, longest: Longest) -> Option<Self> {
        let begun = runtime.spawn(async move { (Thread::this(), CpuTime::now(), LoopDelay::start(clock, longest)) });
        let (thread, before, delay) = begun.await.ok()?;
        Some(Self { runtime, thread, before_ns: before?.thread_ns, delay })
    }

    /// The CPU time of the thread since the start, and its delays.
    async fn finish(self) -> Option<(u64, Option<Delays>)> {
        let after = self.runtime.spawn(async { CpuTime::now() }).await.ok()??;
        Some((after.thread_ns.saturating_sub(self.before_ns), self.delay.finish().await))
    }
}

/// Time between readings within which they show no sleep. They are readings of the time asleep, read one clock after
/// the other.
const READ_WITHIN: Duration = Duration::from_millis(100);

/// Returns how long this machine slept between two readings. They are readings of the time that it has been asleep.
fn slept(before: Option<i128>, after: Option<i128>) -> Option<u64> {
    let slept = u64::try_from(after? - before?).ok()?;
    (u128::from(slept) > READ_WITHIN.as_nanos()).then_some(slept)
}

/// Time between two samples. One takes about 0.1 ms of the monitoring thread.
const EVERY: Duration = Duration::from_secs(1);

/// A meter that takes the samples.
struct Meter {
    /// The threads that must not be late, with their CPU time before.
    loops: Vec<(Thread, Option<u64>)>,
    before: CpuTime,
    retransmits_before: Option<u64>,
    longest: Longest,
    next: Timestamp,
    samples: Box<dyn FnMut(ClientSample) + Send>,
}

impl Meter {
    /// Makes a meter of the process, and of its threads that must not be late.
    fn new(
        before: CpuTime,
        threads: Vec<Thread>,
        longest: Longest,
        samples: Box<dyn FnMut(ClientSample) + Send>,
    ) -> Self {
        Self {
            loops: threads.into_iter().map(|thread| (thread, thread.cpu_ns())).collect(),
            before,
            retransmits_before: retransmits(),
            longest,
            next: Timestamp::ZERO.after(EVERY),
            samples,
        }
    }

    /// Takes a sample if a second has passed.
    fn look(&mut self, now: Timestamp) {
        if now < self.next {
            return;
        }
        self.next = Timestamp::ZERO.after(EVERY * (now.as_secs_f64() as u32 + 1));
        let Some(cpu) = CpuTime::now() else { return };
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        (self.samples)(ClientSample {
            at: now,
            cpu_ns: cpu.process_ns.saturating_sub(self.before.process_ns),
            loop_cpu_ns: self.loops.iter().filter_map(|(thread, before)| since(thread.cpu_ns(), *before)).max(),
            memory_bytes: memory_bytes(),
            loop_delay_max_ns: self.longest.take(),
            retransmits: since(retransmits(), self.retransmits_before),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_sleep_is_what_the_clocks_differ_by_more_than_before() {
        let ms = |ms: i128| Some(ms * 1_000_000);
        assert_eq!(slept(ms(500), ms(12_500)), Some(12_000_000_000));
        assert_eq!(slept(Some(-90), Some(11_999_999_910)), Some(12_000_000_000), "read a little late");
        for (before, after) in [(ms(500), ms(500)), (ms(500), ms(560)), (ms(560), ms(500)), (None, ms(9_000))] {
            assert_eq!(slept(before, after), None);
        }
        assert_eq!(slept(asleep(), asleep()), None, "this machine is awake");
    }

    #[test]
    fn a_sample_is_taken_at_each_second_once() {
        let (sender, taken) = mpsc::channel();
        let sink = Box::new(move |sample| sender.send(sample).unwrap());
        let mut meter = Meter::new(CpuTime::now().unwrap(), vec![Thread::this()], Longest::default(), sink);
        for millis in [0, 999, 1_000, 1_003, 1_999, 3_500, 3_503, 4_000] {
            meter.look(Timestamp::from_nanos(millis * 1_000_000));
        }
        let samples: Vec<ClientSample> = taken.try_iter().collect();
        let moments: Vec<_> = samples.iter().map(|sample| sample.at.as_nanos() / 1_000_000).collect();
        assert_eq!(moments, [1_000, 3_500, 4_000], "seconds that were slept through are one sample");
        assert!(samples.is_sorted_by_key(|sample| sample.cpu_ns));
        assert!(samples.iter().all(|sample| sample.loop_delay_max_ns.is_none()), "no loop was watched");
    }
}
