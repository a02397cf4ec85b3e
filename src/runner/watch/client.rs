//! Collects what happened on this machine during a run.

use super::loop_delay::LoopDelay;
use super::meter::{Meter, SampleSink};
use super::usage::{CpuTime, peak_memory_bytes};
use super::watcher::Watcher;
use crate::clock::RunClock;
use crate::record::ClientFacts;

/// Monitors this process and its machine.
#[derive(Debug)]
pub(crate) struct ClientWatch {
    watcher: Watcher,
    loop_delay: LoopDelay,
    before: CpuTime,
}

impl ClientWatch {
    /// Starts on the thread of the run loop; `None` where the system reports too little. Gives a sample each
    /// second to `samples`, if any.
    pub(crate) fn start(clock: RunClock, samples: Option<SampleSink>) -> Option<Self> {
        let before = CpuTime::now()?;
        let loop_delay = LoopDelay::start(clock);
        let mut meter = samples.map(|samples| Meter::new(before, loop_delay.longest(), samples));
        let watcher = Watcher::start(clock, move |now| meter.iter_mut().for_each(|meter| meter.look(now)));
        Some(Self { watcher, loop_delay, before })
    }

    /// What was seen. Must be called on the thread that called `start`.
    pub(crate) async fn finish(self) -> Option<ClientFacts> {
        let after = CpuTime::now()?;
        Some(ClientFacts {
            cpu_ns: after.process_ns.saturating_sub(self.before.process_ns),
            loop_cpu_ns: after.thread_ns.saturating_sub(self.before.thread_ns),
            loop_delay: self.loop_delay.finish().await,
            read_delay: None,
            host_stalls: self.watcher.finish(),
            peak_memory_bytes: peak_memory_bytes(),
        })
    }
}
