//! How many requests were in flight, event by event.

use serde::Serialize;

use super::observed::Observed;
use crate::clock::Timestamp;

/// Requests in flight during the window, of every phase: from being let go to their end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// Average over time.
    pub mean: f64,
    /// The most at any moment.
    pub peak: u64,
}

impl InFlight {
    /// `None` for an empty window.
    pub(crate) fn of(observed: &Observed<'_>) -> Option<Self> {
        let mut mean = 0.0;
        let mut steps: Vec<(Timestamp, i64)> = Vec::new();
        for record in &observed.log.records {
            let from = record.dispatched;
            let (from, to) = (from.max(observed.start), record.ended.min(observed.end));
            if from < to {
                mean += to.since(from).as_secs_f64();
                steps.push((from, 1));
                steps.push((to, -1));
            }
        }
        // At one moment ends go before beginnings: a request that begins as another ends does not overlap it.
        steps.sort_unstable();
        let (mut now, mut peak) = (0, 0);
        for (_, step) in steps {
            now += step;
            peak = peak.max(now);
        }
        Some(Self { mean: observed.per_second(mean)?, peak: peak.unsigned_abs() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
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
    }
}
