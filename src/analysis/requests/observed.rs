//! Decides which requests and which stretch of time the figures of a run are about.

use std::collections::HashSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RecordRef, Records, RequestRecord, RunEnding, RunLog, UnendedRequest};
use crate::workload::{AnswerShape, Slo};

use super::answers::{answered, answers_end};
use super::delivery::StreamDelivery;
use super::stays::{self, Occupancy};
use crate::analysis::requests::form::LoadForm;
use crate::analysis::requests::latency::RequestLatency;
use crate::analysis::requests::slo_outcome::SloOutcome;

/// A request of the window, with what analysis asks of it again and again. A run may have millions of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    records: &'a Records,
    place: u32,
    /// Requests that were in flight when it was dispatched.
    pub(crate) found: u32,
    pub(crate) slo: SloOutcome,
    form: LoadForm,
    came: Came,
}

/// How the answers of a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Streamed,
    /// Answers in streams that were gathered: see [`StreamDelivery`].
    Gathered,
    Whole,
}

impl Came {
    fn new(log: &RunLog, tpot_withheld: bool) -> Self {
        match tpot_withheld {
            _ if !log.header.engine().streamed => Self::Whole,
            true => Self::Gathered,
            false => Self::Streamed,
        }
    }

    fn latency(self, record: &RequestRecord, form: LoadForm) -> RequestLatency {
        let latency = RequestLatency::new(record, form);
        match self {
            Self::Streamed => latency,
            Self::Gathered => RequestLatency { tpot: None, tpot_adjusted: None, ..latency },
            Self::Whole => latency.of_whole_answer(),
        }
    }
}

impl<'a> Measured<'a> {
    /// Returns the record of the request.
    pub(crate) fn record(&self) -> RecordRef<'a> {
        self.records.at(self.place as usize)
    }

    /// Returns the latencies of the request.
    pub(crate) fn latency(&self) -> RequestLatency {
        self.came.latency(&self.record(), self.form)
    }
}

/// A run as analysis looks at it.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) log: &'a RunLog,
    /// First moment of the window.
    pub(crate) start: Timestamp,
    /// First moment after the window, or after the last release where the run stopped before.
    pub(crate) end: Timestamp,
    /// First moment after the time in which answers count: see [`answers_end`].
    pub(crate) answers_end: Timestamp,
    /// Whether the run ended before its window did.
    pub(crate) cut_short: bool,
    /// Whether only requests of the window count in rates. They do in a run of a number of requests, and where the
    /// window has none.
    pub(crate) alone: bool,
    /// Measured requests that were dispatched, in the order of the schedule.
    pub(crate) requests: Vec<Measured<'a>>,
    /// Requests of the warm-up and cool-down with answers complete while answers count. Rates count these too.
    pub(crate) others: Vec<Measured<'a>>,
    /// Whether any of them has an SLO.
    pub(crate) has_slos: bool,
    /// How the records of the window stand to its plan.
    pub(crate) window: Account,
    /// How the records of the warm-up stand to its plan.
    pub(crate) warm_up: Account,
    /// How streams came.
    pub(crate) delivery: StreamDelivery,
    /// Memory of the number in flight over all requests; `None` where the rate changes.
    pub(crate) occupancy: Option<Occupancy>,
}

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

impl<'a> Observed<'a> {
    pub(crate) fn from_log(log: &'a RunLog) -> Self {
        let plan = &log.header.plan;
        let (end, cut_short) = match &log.footer {
            Some(footer) => {
                let end = footer.released_until.min(plan.window_end);
                // Where the server decides when the window ends, only a stop cuts it short, and only before its last
                // request.
                let stopped = matches!(footer.ending, RunEnding::Interrupted | RunEnding::Aborted);
                let whole = plan.is_open_ended() && (!stopped || all_sent(log));
                (end, end < plan.window_end && !whole)
            }
            None => end_of_cut_off_log(log),
        };

        let places = log.records.places_by(|record| (record.phase == Phase::Measured).then_some(record.index));
        // Requests leave in the order of the plan: of a run that stopped early, what is missing before the last
        // that left a record was lost, what would have come after it was never due.
        let account = |phase, planned, come| Account::new(log, phase, planned, if cut_short { come } else { planned });
        let window = account(Phase::Measured, plan.measured_requests, come(log));
        let delivery = StreamDelivery::from_log(log);
        let all = &log.records;
        let mut requests: Vec<_> = places.into_iter().map(|place| measure(log, &delivery, all, place)).collect();
        let (found, occupancy) = stays::occupancy(log, &requests.iter().map(Measured::record));
        requests.iter_mut().zip(&found).for_each(|(request, found)| request.found = *found);
        let (start, counted) = (plan.window_start, log.header.workload.requests.is_some());
        let answers_end = answers_end(|| all.iter(), (start, end), counted);
        let alone = counted || requests.is_empty();
        let others = all.iter().zip(0..).filter(|(record, _)| {
            let counts = |at| !alone && start <= at && at < answers_end;
            record.phase != Phase::Measured && answered(record).is_some_and(counts)
        });
        Self {
            log,
            start,
            end,
            answers_end,
            occupancy,
            others: others.map(|(_, place)| measure(log, &delivery, all, place)).collect(),
            cut_short,
            alone,
            has_slos: requests.iter().any(|request| request.slo.has_slo()),
            requests,
            window,
            warm_up: account(Phase::Warmup, plan.warmup_requests, past_last(log)),
            delivery,
        }
    }

    /// Returns the memory of the number in flight over the time of a group. The group's `requests` are in the order of
    /// the schedule.
    pub(crate) fn in_flight_of<'r>(&self, requests: impl Iterator<Item = &'r Measured<'a>>) -> Option<Occupancy>
    where
        'a: 'r,
    {
        self.occupancy?.of_group(requests.map(Measured::record))
    }

    /// Counts the requests scheduled in the window. They are those of the plan, and the later turns of sessions that
    /// were dispatched.
    pub(crate) fn planned(&self) -> u64 {
        self.log.header.plan.measured_requests + later_turns(self.log, Phase::Measured) + unsent(self.log)
    }

    /// Length of the window.
    pub(crate) fn length(&self) -> Duration {
        self.end.since(self.start)
    }

    /// `count` per second of the window; `None` for an empty window.
    pub(crate) fn per_second(&self, count: f64) -> Option<f64> {
        per_second(count, self.length())
    }

    /// `count` per second of the time in which answers count.
    pub(crate) fn answers_per_second(&self, count: f64) -> Option<f64> {
        per_second(count, self.answers_end.since(self.start))
    }

    /// Whether the answer to a request of the window counts in rates.
    pub(crate) fn has_part(&self, record: &RequestRecord) -> bool {
        !self.alone || record.phase == Phase::Measured
    }

    /// Whether `moment` lies in the window.
    pub(crate) fn contains(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.end
    }

    /// Seconds of `from … to` inside the window.
    pub(crate) fn seconds_inside(&self, from: Timestamp, to: Timestamp) -> f64 {
        to.min(self.end).since(from.max(self.start)).as_secs_f64()
    }

    /// Whether what arrived at `moment` counts in rates.
    pub(crate) fn counts_answer(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.answers_end
    }

    /// Counts the measured requests whose moment came, with or without a record. This is the denominator of attainment
    /// and failures.
    pub(crate) fn due(&self) -> u64 {
        self.requests.len() as u64 + self.window.in_flight + self.window.unrecorded
    }
}

fn per_second(count: f64, length: Duration) -> Option<f64> {
    let seconds = length.as_secs_f64();
    (seconds > 0.0).then(|| count / seconds)
}

impl Account {
    /// Counts the requests of `phase`. So many of them were planned, and of so many the moment had come.
    fn new(log: &RunLog, phase: Phase, planned: u64, come: u64) -> Self {
        let of_phase = || log.records.iter().filter(move |record| record.phase == phase);
        let of_plan = Self::held(of_phase().filter(|record| record.is_opener()), planned, come);
        // The moment of a later turn that was dispatched had come.
        let later = later_turns(log, phase);
        let of_sessions = Self::held(of_phase().filter(|record| !record.is_opener()), later, later);
        let missing = of_plan.unrecorded + of_sessions.unrecorded;
        let in_flight = in_flight(log).filter(|request| request.phase == phase).count() as u64;
        let in_flight = in_flight.min(missing);
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
fn in_flight(log: &RunLog) -> impl Iterator<Item = &UnendedRequest> {
    log.unended.iter().filter(|_| log.footer.is_none())
}

/// Most requests without a record that are listed.
const MOST_UNRECORDED: usize = 100_000;

/// Returns the indices of requests that were due and left no record. They are the first requests of the plan up to the
/// window's end, and later turns.
pub(crate) fn unrecorded_requests(observed: &Observed<'_>) -> Vec<u64> {
    if observed.window.unrecorded + observed.warm_up.unrecorded == 0 {
        return Vec::new();
    }
    let log = observed.log;
    let plan = &log.header.plan;
    let known: HashSet<u64> = log.records.iter().map(|record| record.index).collect();
    let unended: HashSet<u64> = in_flight(log).map(|request| request.index).collect();
    let come = if observed.cut_short { past_last(log) } else { u64::MAX };
    let planned = plan.warmup_requests + plan.measured_requests;
    let own = (0..).filter(|index| log.header.shard.is_none_or(|shard| shard.has(*index)));
    let openers = own.take(planned as usize).take_while(|index| *index < come);
    // Of later turns only those are known that were noted as dispatched.
    let turns = log.unended.iter().filter(|request| !request.is_opener() && request.phase != Phase::Cooldown);
    let all = openers.chain(turns.map(|request| request.index));
    all.filter(|index| !known.contains(index) && !unended.contains(index)).take(MOST_UNRECORDED).collect()
}

/// Counts the later turns of sessions that the run dispatched in a phase. Of a log that was cut off it counts as many
/// as it names.
fn later_turns(log: &RunLog, phase: Phase) -> u64 {
    if let Some(footer) = &log.footer {
        return footer.sessions.map_or(0, |sessions| sessions.turns(phase));
    }
    let later = log.records.iter().filter(|record| !record.is_opener() && record.phase == phase);
    let unended = log.unended.iter().filter(|request| !request.is_opener() && request.phase == phase);
    let indices = later.map(|record| record.index).chain(unended.map(|request| request.index));
    indices.collect::<HashSet<_>>().len() as u64
}

/// Requests of the plan up to the last that is known to have been dispatched.
fn past_last(log: &RunLog) -> u64 {
    let recorded = log.records.iter().filter(|record| record.is_opener()).map(|record| record.index);
    let unended = log.unended.iter().filter(|request| request.is_opener()).map(|request| request.index);
    let past_last = recorded.chain(unended).map(|index| index + 1).max().unwrap_or(0);
    // Places are those of the whole plan, counts those of the share that was run.
    log.header.shard.map_or(past_last, |shard| shard.among_first(past_last))
}

/// Counts the window's requests up to the last that is known to have been dispatched.
fn come(log: &RunLog) -> u64 {
    let plan = &log.header.plan;
    past_last(log).saturating_sub(plan.warmup_requests).min(plan.measured_requests)
}

/// Counts the requests that the users of a closed loop have not sent. The loop has so many. 0 where their number does
/// not end the run.
fn unsent(log: &RunLog) -> u64 {
    let plan = &log.header.plan;
    let Some(requests) = log.header.workload.requests.filter(|_| plan.is_open_ended()) else { return 0 };
    let first = past_last(log).min(plan.warmup_requests + plan.measured_requests);
    let sent = first + later_turns(log, Phase::Warmup) + later_turns(log, Phase::Measured);
    requests.saturating_sub(sent)
}

/// Whether the users of a closed loop with a number of requests have sent all.
fn all_sent(log: &RunLog) -> bool {
    log.header.workload.requests.is_some() && unsent(log) == 0
}

/// Returns the last release of a log without a footer. It says too whether requests of the window were still to come.
fn end_of_cut_off_log(log: &RunLog) -> (Timestamp, bool) {
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

/// The latencies of `record` in a run with this log.
pub(crate) fn latency_of(log: &RunLog, record: &RequestRecord) -> RequestLatency {
    Came::new(log, false).latency(record, LoadForm::from_workload(&log.header.workload))
}

/// Returns the latencies of a request of a run, and whether it met its SLO. `None` where it has none, or that cannot be
/// measured, as TTFT of answers that are not streamed.
pub fn of_request(log: &RunLog, delivery: &StreamDelivery, record: &RequestRecord) -> (RequestLatency, Option<bool>) {
    let form = LoadForm::from_workload(&log.header.workload);
    let latency = Came::new(log, delivery.tpot_withheld).latency(record, form);
    (latency, slo_of(log, delivery, record).is_met())
}

/// Measures the record at `place` of `records` in a run with this log.
pub(crate) fn measure<'a>(log: &RunLog, delivery: &StreamDelivery, records: &'a Records, place: u32) -> Measured<'a> {
    let slo = slo_of(log, delivery, &records.at(place as usize));
    let form = LoadForm::from_workload(&log.header.workload);
    let came = Came::new(log, delivery.tpot_withheld);
    Measured { records, place, found: 0, slo, form, came }
}

/// How `record` stands to its SLO.
fn slo_of(log: &RunLog, delivery: &StreamDelivery, record: &RequestRecord) -> SloOutcome {
    let latency = latency_of(log, record);
    let target = log.header.workload.slo_of(record.class, record.priority, record.tenant);
    let target = if record.outcome == Outcome::Cancelled { Slo::default() } else { target };
    let latency_of_answer = (record.outcome == Outcome::Completed).then_some(&latency);
    let slo = if !log.header.engine().streamed {
        SloOutcome::of_whole_answer(target, latency_of_answer)
    } else if delivery.tpot_withheld {
        SloOutcome::of_part(target, Slo { tpot_ms: None, ..target }, latency_of_answer)
    } else {
        SloOutcome::new(target, latency_of_answer)
    };
    let class = log.header.workload.classes.get(usize::from(record.class));
    let in_slo = class.and_then(|class| class.answer.as_ref()).is_some_and(AnswerShape::is_in_slo);
    match record.validity {
        Some(validity) if in_slo => slo.with_form(validity),
        _ => slo,
    }
}

#[cfg(test)]
mod tests {
    //! Which requests a run is about.

    use super::*;

    #[test]
    fn what_analysis_holds_of_each_request_is_small() {
        assert!(size_of::<RequestRecord>() <= 320, "{}", size_of::<RequestRecord>());
        assert!(size_of::<Measured<'_>>() <= 24, "{}", size_of::<Measured<'_>>());
    }
}
