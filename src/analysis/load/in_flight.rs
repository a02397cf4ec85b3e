//! How many requests were in flight, and how many waited to be, event by event.

use serde::Serialize;

use crate::analysis::requests::observed::Observed;
use crate::clock::Timestamp;
use crate::record::{RequestRecord, RunLog};

/// Requests of every phase during the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlight {
    /// Average over time of those in flight: from their slot under the cap (without a cap: from their dispatch)
    /// to their end.
    pub mean: f64,
    /// The most in flight at any moment.
    pub peak: u64,
    /// Dispatched requests that waited for a slot under the cap; absent without a cap.
    pub waiting: Option<Level>,
}

/// A number of requests over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Level {
    /// Average over time.
    pub mean: f64,
    /// The most at any moment.
    pub peak: u64,
}

impl InFlight {
    /// `None` for an empty window.
    pub(crate) fn of(observed: &Observed<'_>) -> Option<Self> {
        let records = &observed.log.records;
        let capped = observed.log.header.limits.max_concurrency.is_some();
        let window = (observed.start, observed.end);
        let in_flight =
            Level::of(records.iter().filter_map(|record| time_in_flight(observed.log, record)), window)?;
        let until = |record: &RequestRecord| record.admitted.or(record.sent).unwrap_or(record.ended);
        let waits = records.iter().map(|record| (record.dispatched, until(record)));
        Some(Self {
            mean: in_flight.mean,
            peak: in_flight.peak,
            waiting: if capped { Level::of(waits, window) } else { None },
        })
    }
}

/// From when to when a request was in flight; `None` for one that got no slot under the cap.
pub(crate) fn time_in_flight(log: &RunLog, record: &RequestRecord) -> Option<(Timestamp, Timestamp)> {
    let from = match log.header.limits.max_concurrency {
        Some(_) => record.admitted.or(record.sent)?,
        None => record.admitted.unwrap_or(record.dispatched),
    };
    Some((from, record.ended))
}

/// How many of `stays`, `from … to` each, there are at once, stretch by stretch.
pub(crate) fn levels(
    stays: impl Iterator<Item = (Timestamp, Timestamp)>,
) -> impl Iterator<Item = (Timestamp, Timestamp, u64)> {
    let mut steps: Vec<(Timestamp, i64)> =
        stays.filter(|(from, to)| from < to).flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    // At one moment ends go before beginnings: a request that begins as another ends does not overlap it.
    steps.sort_unstable();
    let (mut since, mut now) = (Timestamp::ZERO, 0_i64);
    steps.into_iter().filter_map(move |(at, step)| {
        let stretch = (since, at, now.unsigned_abs());
        (since, now) = (at, now + step);
        (stretch.0 < stretch.1).then_some(stretch)
    })
}

impl Level {
    /// Of what lasted `from … to` each; `None` for an empty stretch.
    fn of(
        stays: impl Iterator<Item = (Timestamp, Timestamp)>,
        (start, end): (Timestamp, Timestamp),
    ) -> Option<Self> {
        let length = end.since(start).as_secs_f64();
        let mut spent = 0.0;
        let inside = stays.map(|(from, to)| (from.max(start), to.min(end))).inspect(|(from, to)| {
            if from < to {
                spent += to.since(*from).as_secs_f64();
            }
        });
        let peak = levels(inside).map(|(.., level)| level).max().unwrap_or(0);
        (length > 0.0).then_some(Self { mean: spent / length, peak })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::Phase;

    #[test]
    fn time_in_flight_is_counted_inside_the_window_only() {
        let log = run(
            1_000,
            vec![
                record(0).sent_at(0, 100, 100).paced(500, 1, 1).build(), // 400 ms
                record(1).sent_at(0, 500, 500).paced(700, 1, 1).build(), // 200 ms, begins as the first ends
                record(2).sent_at(0, 600, 600).paced(5_000, 1, 1).build(), // 400 ms of the window
                record(3).phase(Phase::Cooldown).sent_at(1_000, 1_000, 1_000).censored(5_000).build(),
            ],
        );
        let in_flight = InFlight::of(&Observed::of(&log)).unwrap();
        assert_eq!(in_flight.peak, 2);
        assert!((in_flight.mean - 1.0).abs() < 1e-12);
        assert_eq!(in_flight.waiting, None);
    }

    #[test]
    fn who_waits_under_the_cap_is_not_in_flight() {
        // A cap of 1: three come at once, each takes 300 ms; the last never gets a place before the end at 600.
        let mut first = record(0).sent_at(0, 0, 0).paced(300, 1, 1).build();
        let mut second = record(1).sent_at(0, 0, 300).paced(600, 1, 1).build();
        let third = record(2).scheduled(0).censored(600).build();
        (first.admitted, second.admitted) = (Some(ms(0)), Some(ms(300)));
        let mut log = run(1_000, vec![first, second, third]);
        log.header.limits.max_concurrency = Some(1);
        let in_flight = InFlight::of(&Observed::of(&log)).unwrap();
        assert_eq!((in_flight.peak, in_flight.waiting.unwrap().peak), (1, 2));
        assert!((in_flight.mean - 0.6).abs() < 1e-12);
        assert!((in_flight.waiting.unwrap().mean - 0.9).abs() < 1e-12);
    }

    #[test]
    fn who_was_sent_waits_no_more_though_no_record_says_when_it_was_admitted() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 200).paced(700, 1, 1).build()]);
        log.header.limits.max_concurrency = Some(1);
        let in_flight = InFlight::of(&Observed::of(&log)).unwrap();
        assert!((in_flight.mean - 0.5).abs() < 1e-12);
        assert!((in_flight.waiting.unwrap().mean - 0.2).abs() < 1e-12);
    }
}
