//! Numbers the requests of a plan and assigns each to its part of the run.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::record::Phase;
use crate::workload::WorkloadSpec;

/// Assigns arrivals, one by one, to the parts of a run.
#[derive(Clone, Debug)]
pub(super) struct PhaseTracker {
    workload: Arc<WorkloadSpec>,
    next_index: u64,
    /// Last moment at which load may still arrive; unknown until the end of the window is known.
    cooldown_end: Option<Timestamp>,
    /// The latest arrival, inside or outside the plan.
    latest: Timestamp,
}

impl PhaseTracker {
    pub(super) fn new(workload: Arc<WorkloadSpec>) -> Self {
        let cooldown_end = match workload.requests {
            Some(_) => None,
            None => Some(Timestamp::from_secs_f64(workload.horizon_s + workload.drain_s)),
        };
        Self { workload, next_index: 0, cooldown_end, latest: Timestamp::ZERO }
    }

    /// Index and phase of the next arrival; `None` at the end of the plan.
    pub(super) fn admit(&mut self, scheduled: Timestamp) -> Option<(u64, Phase)> {
        let before = self.latest;
        self.latest = scheduled;
        let index = self.next_index;
        let phase = self.phase(index, scheduled);
        if phase == Phase::Cooldown {
            let drain = Timestamp::from_secs_f64(self.workload.drain_s).since(Timestamp::ZERO);
            let end = *self.cooldown_end.get_or_insert_with(|| before.after(drain));
            if scheduled >= end {
                return None;
            }
        }
        self.next_index += 1;
        Some((index, phase))
    }

    /// Records that nothing arrives any more.
    pub(super) fn end(&mut self) {
        self.latest = Timestamp::from_nanos(self.latest.as_nanos() + 1);
    }

    /// The latest arrival: once the plan has left the window, the first moment after it. If no arrival followed, just
    /// after the last.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        self.latest
    }

    fn phase(&self, index: u64, scheduled: Timestamp) -> Phase {
        let in_run = match self.workload.requests {
            Some(requests) => index < requests,
            None => scheduled < Timestamp::from_secs_f64(self.workload.horizon_s),
        };
        if !in_run {
            Phase::Cooldown
        } else if scheduled < Timestamp::from_secs_f64(self.workload.warmup_s) {
            Phase::Warmup
        } else {
            Phase::Measured
        }
    }
}
