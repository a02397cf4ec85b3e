//! Decides which requests and which stretch of time the figures of a run are about.

use std::collections::HashSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RecordRef, Records, RequestRecord, RunEnding, RunLog};
use crate::workload::Slo;

use super::account::{Account, all_sent, come, end_of_cut_off_log, in_flight, later_turns, past_last, unsent};
use super::answers::{answered, answers_end};
use super::delivery::StreamDelivery;
use super::stays::{self, Occupancy};
use crate::analysis::figures::{Figure, Metric};
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

/// How the answer to a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Streamed,
    /// Answers in streams that were gathered: see [`StreamDelivery`].
    Gathered,
    Whole,
}

impl Came {
    fn new(log: &RunLog, record: &RequestRecord, tpot_withheld: bool) -> Self {
        match tpot_withheld {
            _ if !log.header.engine_of(record).streamed => Self::Whole,
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

    /// Returns a latency of the request. With it are how many it found in flight, and its session.
    pub(crate) fn sampled(&self, metric: Metric) -> Option<(Figure, u32, u64)> {
        let record = self.record();
        let latency = self.came.latency(&record, self.form).get(metric)?;
        Some((latency, self.found, session_of(&record)))
    }

    /// Returns the moment from which its latencies count.
    pub(crate) fn begin(&self) -> Timestamp {
        self.form.begin_of(&self.record())
    }

    /// Whether the stamps of its chunks show when its tokens came.
    pub(crate) fn shows_tokens(&self) -> bool {
        self.came == Came::Streamed
    }
}

/// Index of the first request of the conversation or graph of this one. It is its own where it stands alone.
pub(crate) fn session_of(record: &RequestRecord) -> u64 {
    record.turn().map_or(record.index, |turn| turn.opener())
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
        let window = Account::new(log, Phase::Measured, plan.measured_requests, cut_short.then(|| come(log)));
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
            warm_up: Account::new(log, Phase::Warmup, plan.warmup_requests, cut_short.then(|| past_last(log))),
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

/// The latencies of `record` in a run with this log.
pub(crate) fn latency_of(log: &RunLog, record: &RequestRecord) -> RequestLatency {
    Came::new(log, record, false).latency(record, LoadForm::from_workload(&log.header.workload))
}

/// Returns the latencies of a request of a run, and whether it met its SLO. `None` where it has none, or that cannot be
/// measured, as TTFT of answers that are not streamed.
pub fn of_request(log: &RunLog, delivery: &StreamDelivery, record: &RequestRecord) -> (RequestLatency, Option<bool>) {
    let form = LoadForm::from_workload(&log.header.workload);
    let latency = Came::new(log, record, delivery.tpot_withheld).latency(record, form);
    (latency, slo_of(log, delivery, record).is_met())
}

/// Measures the record at `place` of `records` in a run with this log.
pub(crate) fn measure<'a>(log: &RunLog, delivery: &StreamDelivery, records: &'a Records, place: u32) -> Measured<'a> {
    let record = records.at(place as usize);
    let slo = slo_of(log, delivery, &record);
    let form = LoadForm::from_workload(&log.header.workload);
    let came = Came::new(log, &record, delivery.tpot_withheld);
    Measured { records, place, found: 0, slo, form, came }
}

/// How `record` stands to its SLO.
fn slo_of(log: &RunLog, delivery: &StreamDelivery, record: &RequestRecord) -> SloOutcome {
    let latency = latency_of(log, record);
    let target = log.header.workload.slo_of(record.class, record.priority, record.tenant);
    let target = if record.leaves { Slo::default() } else { target };
    let latency_of_answer = (record.outcome == Outcome::Completed).then_some(&latency);
    let slo = if !log.header.engine_of(record).streamed {
        SloOutcome::of_whole_answer(target, latency_of_answer)
    } else if delivery.tpot_withheld {
        SloOutcome::of_part(target, Slo { tpot_ms: None, ..target }, latency_of_answer)
    } else {
        SloOutcome::new(target, latency_of_answer)
    };
    slo.with_answer(&log.header.workload, record)
}

#[cfg(test)]
mod tests {
    //! Which requests a run is about.

    use super::*;

    #[test]
    fn what_analysis_holds_of_each_request_is_small() {
        assert!(size_of::<RequestRecord>() <= 328, "{}", size_of::<RequestRecord>());
        assert!(size_of::<Measured<'_>>() <= 24, "{}", size_of::<Measured<'_>>());
    }
}
