//! Gathers what a run's machine went through from its beginning to its end.

use super::loop_delay::LoopDelay;
use super::usage::{CpuTime, peak_memory_bytes};
use super::watcher::Watcher;
use crate::clock::RunClock;
use crate::record::ClientFacts;

/// A watch over this process and its machine.
#[derive(Debug)]
pub(in crate::runner) struct ClientWatch {
    watcher: Watcher,
    loop_delay: LoopDelay,
    before: CpuTime,
}

impl ClientWatch {
    /// Begins, on the thread of the run loop; `None` where the system tells too little.
    pub(in crate::runner) fn start(clock: RunClock) -> Option<Self> {
        let before = CpuTime::now()?;
        Some(Self { watcher: Watcher::start(clock), loop_delay: LoopDelay::start(clock), before })
    }

    /// What was seen, asked on the thread on which it began.
    pub(in crate::runner) async fn finish(self) -> Option<ClientFacts> {
        let after = CpuTime::now()?;
        Some(ClientFacts {
            cpu_ns: after.process_ns.saturating_sub(self.before.process_ns),
            loop_cpu_ns: after.thread_ns.saturating_sub(self.before.thread_ns),
            loop_delay: self.loop_delay.finish().await,
            read_delay: None,
            pauses: self.watcher.finish(),
            peak_memory_bytes: peak_memory_bytes(),
        })
    }
}
