//! The arrivals of one process, planned and delivered.

use std::time::Duration;

use super::sequence::ArrivalSequence;
use crate::arrivals::LatentStates;
use crate::clock::Timestamp;
use crate::workload::ArrivalPattern;

/// A request of a run as far as its arrival is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Place of its class in the workload's list.
    pub(super) class: u16,
    /// When the plan dispatches it.
    pub(super) planned: Timestamp,
    /// When it was dispatched.
    pub(super) delivered: Timestamp,
}

/// The sequences of requests planned and delivered at these moments, as [`super::figures::ArrivalFigures::of_delivery`]
/// takes them: a request that left on time counts as delivered at its planned moment.
pub(super) fn sequences(
    pattern: &ArrivalPattern,
    hidden: &LatentStates,
    until: Timestamp,
    moments: &[(Timestamp, Timestamp)],
) -> (ArrivalSequence, ArrivalSequence) {
    let on_time = on_time(until, moments.iter().filter(|moment| moment.0 < until).count());
    let planned: Vec<_> = moments.iter().map(|moment| moment.0).collect();
    let delivered: Vec<_> =
        moments
            .iter()
            .map(|&(planned, delivered)| {
                if planned <= delivered && delivered.since(planned) <= on_time { planned } else { delivered }
            })
            .collect();
    let of = |moments| ArrivalSequence::of(pattern, hidden, until, moments);
    let sequence = of(&planned);
    let delivery = if delivered == planned { sequence.clone() } else { of(&delivered) };
    (sequence, delivery)
}

/// How late a request may leave to be on time: a tenth of the mean gap, at least 0.1 ms and at most 1 ms.
fn on_time(until: Timestamp, arrivals: usize) -> Duration {
    let mean_gap = until.as_secs_f64() / arrivals.max(1) as f64;
    Duration::from_secs_f64((0.1 * mean_gap).clamp(1e-4, 1e-3))
}
