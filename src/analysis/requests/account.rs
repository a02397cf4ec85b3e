//! How the records of a part of a run stand to its plan, and what a log says of requests without a record.

use std::collections::HashSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Phase, RecordRef, RunLog, UnendedRequest};

/// How the records of a part of the run stand to its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// Requests that a run which stopped early never dispatched.
    pub(crate) never_due: u64,
    /// Requests that were in flight when the run was cut off. It is not known how they ended.
    pub(crate) in_flight: u64,
    /// Planned requests that left no record although their moment had come.
    pub(crate) unrecorded: u64,
    /// Records without a plan: doubles, or more than were planned.
    pub(crate) unplanned: u64,
}

impl Account {
    /// Counts the requests of `phase`. So many of them were planned, and of so many or all the moment had come.
    pub(super) fn new(log: &RunLog, phase: Phase, planned: u64, come: Option<u64>) -> Self {
        let of_phase = || log.records.iter().filter(move |record| record.phase == phase);
        let of_plan = Self::held(of_phase().filter(|record| record.is_opener()), planned, come.unwrap_or(planned));
        // The moment of a later turn that was dispatched had come.
        let later = later_turns(log, phase);
        let of_sessions = Self::held(of_phase().filter(|record| !record.is_opener()), later, later);
        let missing = of_plan.unrecorded + of_sessions.unrecorded;
        let in_flight = missing.min(in_flight(log).filter(|request| request.phase == phase).count() as u64);
        Self {
            never_due: of_plan.never_due + if phase == Phase::Measured { unsent(log) } else { 0 },
            in_flight,
            unrecorded: missing - in_flight,
            unplanned: of_plan.unplanned + of_sessions.unplanned,
        }
    }

    fn held<'a>(records: impl Iterator<Item = RecordRef<'a>>, planned: u64, come: u64) -> Self {
        let mut places: Vec<u64> = records.map(|record| record.index).collect();
        let all = places.len() as u64;
        places.sort_unstable();
        places.dedup();
        let distinct = places.len() as u64;
        let missing = planned.saturating_sub(distinct);
        let unrecorded = missing.min(come.saturating_sub(distinct));
        Self {
            never_due: missing - unrecorded,
            in_flight: 0,
            unrecorded,
            unplanned: all - distinct + distinct.saturating_sub(planned),
        }
    }
}

/// Returns the requests that were in flight when the run was cut off. None of a run that came to an end.
pub(super) fn in_flight(log: &RunLog) -> impl Iterator<Item = &UnendedRequest> {
    log.unended.iter().filter(|_| log.footer.is_none())
}

/// Counts the later turns of sessions that the run dispatched in a phase. Of a log that was cut off it counts as many
/// as it names.
pub(super) fn later_turns(log: &RunLog, phase: Phase) -> u64 {
    if let Some(footer) = &log.footer {
        return footer.sessions.map_or(0, |sessions| sessions.turns(phase));
    }
    let later = log.records.iter().filter(|record| !record.is_opener() && record.phase == phase);
    let unended = log.unended.iter().filter(|request| !request.is_opener() && request.phase == phase);
    let indices = later.map(|record| record.index).chain(unended.map(|request| request.index));
    indices.collect::<HashSet<_>>().len() as u64
}

/// Requests of the plan up to the last that is known to have been dispatched.
pub(super) fn past_last(log: &RunLog) -> u64 {
    let recorded = log.records.iter().filter(|record| record.is_opener()).map(|record| record.index);
    let unended = log.unended.iter().filter(|request| request.is_opener()).map(|request| request.index);
    let past_last = recorded.chain(unended).map(|index| index + 1).max().unwrap_or(0);
    // Places are those of the whole plan, counts those of the share that was run.
    log.header.shard.map_or(past_last, |shard| shard.among_first(past_last))
}

/// Counts the window's requests up to the last that is known to have been dispatched.
pub(super) fn come(log: &RunLog) -> u64 {
    let plan = &log.header.plan;
    past_last(log).saturating_sub(plan.warmup_requests).min(plan.measured_requests)
}

/// Counts the requests that the users of a closed loop have not sent. The loop has so many. 0 where their number does
/// not end the run.
pub(super) fn unsent(log: &RunLog) -> u64 {
    let plan = &log.header.plan;
    let Some(requests) = log.header.workload.requests.filter(|_| plan.is_open_ended()) else { return 0 };
    let first = past_last(log).min(plan.warmup_requests + plan.measured_requests);
    let sent = first + later_turns(log, Phase::Warmup) + later_turns(log, Phase::Measured);
    requests.saturating_sub(sent)
}

/// Whether the users of a closed loop with a number of requests have sent all.
pub(super) fn all_sent(log: &RunLog) -> bool {
    log.header.workload.requests.is_some() && unsent(log) == 0
}

/// Returns the last release of a log without a footer. It says too whether requests of the window were still to come.
pub(super) fn end_of_cut_off_log(log: &RunLog) -> (Timestamp, bool) {
    let plan = &log.header.plan;
    if !plan.is_open_ended() && come(log) >= plan.measured_requests {
        return (plan.window_end, false);
    }
    let recorded = log.records.iter().map(|record| (record.phase, record.dispatched));
    let unended = log.unended.iter().map(|request| (request.phase, request.dispatched));
    let counted = recorded.chain(unended).filter(|(phase, _)| *phase != Phase::Cooldown);
    let end = counted.map(|(_, dispatched)| dispatched.after(Duration::from_nanos(1))).max();
    (end.unwrap_or_default().min(plan.window_end), !(plan.is_open_ended() && all_sent(log)))
}
