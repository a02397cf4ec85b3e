//! Collects what happened on this machine during a run, and samples once a second what this process uses.

use std::time::Duration;

use super::loop_delay::{Longest, LoopDelay};
use super::usage::{CpuTime, Thread, memory_bytes, peak_memory_bytes, retransmits};
use super::watcher::Watcher;
use crate::clock::{Pacing, RunClock, Timestamp, asleep, overruns};
use crate::record::{ClientFacts, ClientSample};

/// Monitors this process and its machine.
pub(crate) struct ClientWatch {
    watcher: Watcher,
    loop_delay: LoopDelay,
    before: CpuTime,
    overruns: u64,
    asleep: Option<i128>,
}

impl ClientWatch {
    /// Starts on the thread of the run loop; `None` where the system reports too little. Gives a sample each
    /// second to `samples`, if any.
    pub(crate) fn start(clock: RunClock, pacing: Pacing, samples: Option<SampleSink>) -> Option<Self> {
        let before = CpuTime::now()?;
        let loop_delay = LoopDelay::start(clock);
        let mut meter = samples.map(|samples| Meter::new(before, loop_delay.longest(), samples));
        let look = move |now| meter.iter_mut().for_each(|meter: &mut Meter| meter.look(now));
        let watcher = Watcher::start(clock, pacing, look);
        Some(Self { watcher, loop_delay, before, overruns: overruns(), asleep: asleep() })
    }

    /// Ends the watch and returns what was seen. Must be called on the thread that called `start`.
    pub(crate) async fn finish(self) -> Option<ClientFacts> {
        let after = CpuTime::now()?;
        Some(ClientFacts {
            cpu_ns: after.process_ns.saturating_sub(self.before.process_ns),
            loop_cpu_ns: after.thread_ns.saturating_sub(self.before.thread_ns),
            loop_delay: self.loop_delay.finish().await,
            read_delay: None,
            stream_reads: None,
            host_stalls: self.watcher.finish(),
            slept_ns: slept(self.asleep, asleep()),
            peak_memory_bytes: peak_memory_bytes(),
            priority_lost: overruns() > self.overruns,
        })
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

/// Receives samples of what this process uses during a run.
pub struct SampleSink(Box<dyn FnMut(ClientSample) + Send>);

impl SampleSink {
    /// Passes each sample to `take`, which must not block.
    pub fn new(take: impl FnMut(ClientSample) + Send + 'static) -> Self {
        Self(Box::new(take))
    }
}

/// A meter that takes the samples.
struct Meter {
    loop_thread: Thread,
    before: CpuTime,
    loop_before: Option<u64>,
    retransmits_before: Option<u64>,
    longest: Longest,
    next: Timestamp,
    samples: SampleSink,
}

impl Meter {
    /// Makes a meter of the process and of the calling thread. That thread is the one of the run loop.
    fn new(before: CpuTime, longest: Longest, samples: SampleSink) -> Self {
        let loop_thread = Thread::this();
        Self {
            loop_thread,
            before,
            loop_before: loop_thread.cpu_ns(),
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
        (self.samples.0)(ClientSample {
            at: now,
            cpu_ns: cpu.process_ns.saturating_sub(self.before.process_ns),
            loop_cpu_ns: since(self.loop_thread.cpu_ns(), self.loop_before),
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
        let sink = SampleSink::new(move |sample| sender.send(sample).unwrap());
        let mut meter = Meter::new(CpuTime::now().unwrap(), Longest::default(), sink);
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
