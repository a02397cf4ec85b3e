//! Decides which requests and which stretch of time the figures of a run are about.

use std::collections::HashSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord, RunEnding, RunLog};
use crate::workload::Slo;

use super::{RequestLatency, attainment::SloOutcome};

/// A request of the window, with what analysis asks of it again and again.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) record: &'a RequestRecord,
    pub(crate) latency: RequestLatency,
    pub(crate) slo: SloOutcome,
}

/// A run as analysis looks at it.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) log: &'a RunLog,
    /// First moment of the window.
    pub(crate) start: Timestamp,
    /// First moment after the window, or after the last release where the run stopped before the window ended.
    pub(crate) end: Timestamp,
    /// Whether the run ended before all of its window had been flown: interrupted, or its log cut off.
    pub(crate) cut_short: bool,
    /// Measured requests that were due before `end`, in order of their places in the schedule.
    pub(crate) requests: Vec<Measured<'a>>,
    /// Measured requests planned after `end`, whose moment therefore never came.
    pub(crate) never_due: u64,
    /// Planned requests of the window without a record.
    pub(crate) unrecorded: u64,
    /// Records of the window for which there is no plan: doubles, or more than were planned.
    pub(crate) unplanned: u64,
}

impl<'a> Observed<'a> {
    pub(crate) fn of(log: &'a RunLog) -> Self {
        let plan = &log.header.plan;
        let cut_short = stopped_early(log);
        let end = if cut_short { last_release(log).min(plan.window_end) } else { plan.window_end };

        let mut due: Vec<&RequestRecord> = Vec::new();
        let mut never_due = 0;
        let mut places = HashSet::new();
        let mut recorded = 0;
        for record in log.records.iter().filter(|record| record.phase == Phase::Measured) {
            recorded += 1;
            places.insert(record.index);
            // Whoever was let go was due; a record without a release may stand for one that never was.
            if record.dispatched.is_some() || record.scheduled < end || !cut_short {
                due.push(record);
            } else {
                never_due += 1;
            }
        }
        due.sort_unstable_by_key(|record| record.index);
        let distinct = places.len() as u64;
        let missing = plan.measured_requests.saturating_sub(distinct);
        Self {
            log,
            start: plan.window_start,
            end,
            cut_short,
            requests: due.into_iter().map(|record| measure(log, record)).collect(),
            never_due,
            unrecorded: missing,
            unplanned: (recorded - distinct) + distinct.saturating_sub(plan.measured_requests),
        }
    }

    /// Length of the window.
    pub(crate) fn length(&self) -> Duration {
        self.end.since(self.start)
    }

    /// `count` per second of the window; `None` for an empty window.
    pub(crate) fn per_second(&self, count: f64) -> Option<f64> {
        let seconds = self.length().as_secs_f64();
        (seconds > 0.0).then(|| count / seconds)
    }

    /// Whether `moment` lies in the window.
    pub(crate) fn contains(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.end
    }

    /// Measured requests whose moment came: the denominator of attainment and of failure rates. A request that
    /// left no record counts, unless the run stopped before its moment may have come.
    pub(crate) fn due(&self) -> u64 {
        let lost = if self.cut_short { 0 } else { self.unrecorded };
        self.requests.len() as u64 + lost
    }
}

/// Whether the run was interrupted, or its log cut off, before every measured request had been let go.
fn stopped_early(log: &RunLog) -> bool {
    let interrupted = log.footer.as_ref().is_none_or(|footer| footer.ending == RunEnding::Interrupted);
    let released = |record: &&RequestRecord| record.phase == Phase::Measured && record.dispatched.is_some();
    interrupted && (log.records.iter().filter(released).count() as u64) < log.header.plan.measured_requests
}

/// The moment just after the last release.
fn last_release(log: &RunLog) -> Timestamp {
    let last = log.records.iter().filter_map(|record| record.dispatched).max();
    last.map_or(Timestamp::ZERO, |at| at.after(Duration::from_nanos(1)))
}

fn measure<'a>(log: &RunLog, record: &'a RequestRecord) -> Measured<'a> {
    let latency = RequestLatency::of(record);
    let latency = if log.header.engine.streamed { latency } else { latency.of_whole_answer() };
    let completed = record.outcome == Outcome::Completed;
    let slo = SloOutcome::of(promise(log, record), completed.then_some(&latency));
    Measured { record, latency, slo }
}

/// The SLO that the workload gives to a request of this class and priority.
fn promise(log: &RunLog, record: &RequestRecord) -> Slo {
    let class = log.header.workload.classes.get(usize::from(record.class));
    let share =
        class.and_then(|class| class.priorities.iter().find(|share| share.priority == record.priority));
    share.map(|share| share.slo).unwrap_or_default()
}
