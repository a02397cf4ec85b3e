//! Picks the requests of a run that pictures have room for: some evenly, and those that must not be missed.

use std::cmp::Reverse;

use super::observed::latency_of;
use crate::analysis::figures::{Figure, Metric};
use crate::clock::Timestamp;
use crate::record::{FailureKind, Outcome, Phase, RecordRef, RequestRecord, RunLog};
use crate::units::millis;

/// Most points of a scatter plot. The other two are how many of them are the slowest, and requests that did not
/// complete.
const POINTS: [usize; 3] = [3_000, 300, 500];
/// Most requests drawn phase by phase. The other two are how many of them are the slowest, and requests that did not
/// complete.
const LANES: [usize; 3] = [60, 10, 10];

/// Requests of all phases by when they were scheduled and how long they waited.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The latency: TTFT, or e2e of answers that are not streamed.
    pub metric: Metric,
    /// Requests that there are.
    pub of: usize,
    /// Requests picked, in order of their scheduled moments.
    pub dots: Vec<Dot>,
}

/// A request of a scatter plot.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Place of the request in the schedule.
    pub index: u64,
    /// Class of the request, by its place in the workload.
    pub class: u16,
    /// Scheduled moment, seconds since the run's zero.
    pub scheduled_s: f64,
    /// State of the request: what is known of its latency.
    pub fate: RequestState,
    /// Tokens that it received.
    pub tokens: u64,
    /// How long it took until it ended, milliseconds.
    pub ended_ms: f64,
    /// Reason of the failure, where it failed. A time limit may end an answer long after its first token.
    pub failed: Option<FailureKind>,
}

/// Latency of a request as far as it is known, from its scheduled moment, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestState {
    /// Request that has this latency.
    Waited(f64),
    /// Request that was cut off before. Its latency is at least this.
    AtLeast(f64),
    /// Request that has no latency. It failed after this long.
    Failed(f64),
}

impl RequestState {
    /// How long it took, milliseconds.
    pub const fn ms(self) -> f64 {
        match self {
            Self::Waited(ms) | Self::AtLeast(ms) | Self::Failed(ms) => ms,
        }
    }
}

impl Dot {
    const fn is_troubled(&self) -> bool {
        self.failed.is_some() || !matches!(self.fate, RequestState::Waited(_))
    }
}

impl Scatter {
    /// Picks no more than 3,000 requests. They are the slowest, as many of those that did not complete as there is room
    /// for, and the others evenly in order of arrival.
    pub fn from_log(log: &RunLog) -> Self {
        let metric = if log.header.engine().streamed { Metric::Ttft } else { Metric::E2e };
        let mut places =
            log.records.places_by(|record| dot(log, record, metric).map(|_| (record.scheduled, record.index)));
        let of = places.len();
        let dots = |places: &[u32]| {
            log.records.in_places(places).filter_map(|record| dot(log, &record, metric)).collect::<Vec<_>>()
        };
        if of > POINTS[0] {
            let facts = log.records.in_places(&places).filter_map(|record| dot(log, &record, metric));
            places = picked(&places, POINTS, facts.map(|dot| (dot.fate.ms(), dot.is_troubled())));
        }
        Self { metric, of, dots: dots(&places) }
    }
}

fn dot(log: &RunLog, record: &RequestRecord, metric: Metric) -> Option<Dot> {
    let fate = match (&record.outcome, latency_of(log, record).get(metric)) {
        (_, Some(Figure::Exact(ms))) => RequestState::Waited(ms),
        (_, Some(figure)) => RequestState::AtLeast(figure.at_least()),
        (Outcome::Failed(_), None) => RequestState::Failed(millis(record.ended.since(record.scheduled))),
        (_, None) => return None,
    };
    let failed = match &record.outcome {
        Outcome::Failed(failure) => Some(failure.reason),
        Outcome::Completed | Outcome::Cancelled | Outcome::Censored => None,
    };
    let scheduled_s = record.scheduled.as_secs_f64();
    let (tokens, ended_ms) = (record.output_tokens, millis(record.ended.since(record.scheduled)));
    Some(Dot { index: record.index, class: record.class, scheduled_s, fate, tokens, ended_ms, failed })
}

/// Requests of the window to be drawn phase by phase.
#[derive(Clone, Debug)]
pub struct SampledRequests<'a> {
    /// Requests that there are.
    pub of: usize,
    /// Records picked, in order of their scheduled moments.
    pub records: Vec<RecordRef<'a>>,
}

impl<'a> SampledRequests<'a> {
    /// Picks no more than 60 requests. They are the ten that took longest, ten evenly of those that did not complete,
    /// and the others evenly in order of arrival.
    pub fn from_log(log: &'a RunLog) -> Self {
        let mut places = log
            .records
            .places_by(|record| (record.phase == Phase::Measured).then_some((record.scheduled, record.index)));
        let of = places.len();
        if of > LANES[0] {
            let took = |record: &RequestRecord| end_of(record).since(record.scheduled).as_secs_f64();
            let facts = log.records.in_places(&places);
            let facts = facts.map(|record| (took(&record), record.outcome != Outcome::Completed));
            places = picked(&places, LANES, facts);
        }
        Self::from_places(log, of, places)
    }

    /// Picks those that took longest, no more than `most`.
    pub fn slowest(log: &'a RunLog, most: usize) -> Self {
        let took = |record: &RequestRecord| end_of(record).since(record.scheduled);
        let is_measured = |record: &RequestRecord| record.phase == Phase::Measured;
        let mut places = log
            .records
            .places_by(|record| is_measured(record).then(|| (Reverse(took(record)), record.scheduled, record.index)));
        let of = places.len();
        places.truncate(most);
        places.sort_unstable_by_key(|place| {
            let record = log.records.at(*place as usize);
            (record.scheduled, record.index)
        });
        Self::from_places(log, of, places)
    }

    fn from_places(log: &'a RunLog, of: usize, places: Vec<u32>) -> Self {
        Self { of, records: places.into_iter().map(|place| log.records.at(place as usize)).collect() }
    }
}

/// Returns when the last of an answer came. Of one that did not come whole, it is when it was given up.
fn end_of(record: &RequestRecord) -> Timestamp {
    match record.outcome {
        Outcome::Completed => record.chunks.last_at().or(record.whole_answer).unwrap_or(record.ended),
        _ => record.ended,
    }
}

/// Picks `most` of the `places`. They are the `slowest`, so many evenly of those in trouble, and the others evenly. The
/// `facts` of each are how long it took and whether it is in trouble.
fn picked(places: &[u32], [most, slowest, troubled]: [usize; 3], facts: impl Iterator<Item = (f64, bool)>) -> Vec<u32> {
    let (took, is_troubled): (Vec<f64>, Vec<bool>) = facts.unzip();
    let of = places.len();
    let mut picked: Vec<usize> = (0..of).collect();
    if of > slowest {
        picked.select_nth_unstable_by(slowest, |a, b| took[*b].total_cmp(&took[*a]));
        picked.truncate(slowest);
    }
    picked.extend(some_of(of, troubled, |place| is_troubled[place]));
    picked.sort_unstable();
    picked.dedup();
    let room = most.saturating_sub(picked.len());
    let rest: Vec<usize> = some_of(of, room, |place| picked.binary_search(&place).is_err()).collect();
    picked.extend(rest);
    picked.sort_unstable();
    picked.into_iter().map(|place| places[place]).collect()
}

/// No more than `most` of the places that are `wanted`, evenly among them.
fn some_of(of: usize, most: usize, wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = usize> {
    let wanted: Vec<usize> = (0..of).filter(|place| wanted(*place)).collect();
    let picked = wanted.len().min(most);
    (0..picked).map(move |step| wanted[step * wanted.len() / picked])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{Failure, FailureKind};

    #[test]
    fn a_small_run_is_shown_whole() {
        let failure = Failure::new(FailureKind::Reset, "peer");
        let silent = Failure::new(FailureKind::TimeoutBetweenTokens, "no more than 2 s");
        let log = run(
            1_000,
            vec![
                record(1).sent_at(20, 20, 20).paced(70, 1, 3).build(),
                record(0).sent_at(10, 10, 10).failed(25, failure).build(),
                record(2).sent_at(30, 30, 30).censored(1_000).build(),
                record(3).sent_at(40, 40, 40).paced(60, 1, 2).asked(9).failed(2_061, silent.clone()).build(),
                record(4).sent_at(50, 50, 50).failed(2_050, silent).build(),
            ],
        );
        let scatter = Scatter::from_log(&log);
        let fates: Vec<_> = scatter.dots.iter().map(|dot| (dot.index, dot.fate, dot.failed)).collect();
        assert_eq!(
            fates,
            [
                (0, RequestState::Failed(15.0), Some(FailureKind::Reset)),
                (1, RequestState::Waited(50.0), None),
                (2, RequestState::AtLeast(970.0), None),
                // It had its first token in time and failed later: it is no ordinary answer.
                (3, RequestState::Waited(20.0), Some(FailureKind::TimeoutBetweenTokens)),
                (4, RequestState::AtLeast(2_000.0), Some(FailureKind::TimeoutBetweenTokens)),
            ]
        );
        assert_eq!(SampledRequests::from_log(&log).records.len(), 5);
    }

    #[test]
    fn of_a_large_run_the_extremes_are_kept_and_the_rest_is_even() {
        // 20,000 requests, one a millisecond; the TTFT of every 97th is long, and of number 7,777 longest of all.
        let ttft = |i: u64| {
            if i == 7_777 {
                9_000
            } else if i.is_multiple_of(97) {
                500 + i % 5
            } else {
                40
            }
        };
        let records = (0..20_000).map(|i| {
            let built = record(i).sent_at(i, i, i);
            match i % 1_000 {
                13 => built.failed(i + 5, Failure::new(FailureKind::Reset, "peer")).build(),
                _ => built.paced(i + ttft(i), 1, 2).build(),
            }
        });
        let log = run(20_000, records.collect());
        let scatter = Scatter::from_log(&log);
        assert_eq!(scatter.of, 20_000);
        assert_eq!(scatter.dots.len(), POINTS[0]);
        assert!(scatter.dots.iter().any(|dot| dot.index == 7_777));
        let failed = scatter.dots.iter().filter(|dot| matches!(dot.fate, RequestState::Failed(_))).count();
        assert_eq!(failed, 20, "every failure has room");
        assert!(scatter.dots.windows(2).all(|two| two[0].scheduled_s < two[1].scheduled_s), "in order, no doubles");
        let apart = scatter.dots.windows(2).map(|two| two[1].scheduled_s - two[0].scheduled_s);
        assert!(apart.fold(0.0, f64::max) < 0.012, "no stretch is left out");

        let lanes = SampledRequests::from_log(&log);
        assert_eq!((lanes.records.len(), lanes.of), (LANES[0], 20_000));
        assert!(lanes.records.iter().any(|record| record.index == 7_777));
        let failed: Vec<_> = lanes.records.iter().filter(|record| record.outcome != Outcome::Completed).collect();
        assert!(failed.len() >= LANES[2], "{}", failed.len());
        assert!(failed[0].index < 3_000 && failed[failed.len() - 1].index > 17_000, "evenly among them");
    }

    #[test]
    fn a_single_failure_among_many_is_shown_phase_by_phase() {
        let records = (0..5_000).map(|i| {
            let built = record(i).sent_at(i, i, i).paced(i + 40, 1, 2);
            if i == 3_333 { built.failed(i + 41, Failure::new(FailureKind::Reset, "peer")) } else { built }.build()
        });
        let log = run(5_000, records.collect());
        assert!(SampledRequests::from_log(&log).records.iter().any(|record| record.index == 3_333));
    }

    #[test]
    fn places_are_even() {
        let evenly = |of, most| some_of(of, most, |_| true).collect::<Vec<_>>();
        assert_eq!((evenly(10, 4), evenly(2, 4).len(), evenly(0, 4).len()), (vec![0, 2, 5, 7], 2, 0));
        let facts = || [1.0, 9.0, 3.0, 8.0, 2.0].map(|took| (took, took > 8.0)).into_iter();
        let places = [10, 11, 12, 13, 14];
        assert_eq!(picked(&places, [2, 2, 0], facts()), [11, 13]);
        assert_eq!(picked(&places, [4, 2, 1], facts()), [10, 11, 12, 13], "doubles take no room");
    }
}
