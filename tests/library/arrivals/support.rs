//! Plans drawn as Skyline draws them, and the verdicts on them.

use skyline::analysis::{ArrivalFigures, Check, Status};
use skyline::arrivals::{Arrivals, LatentStates};
use skyline::clock::Timestamp;
use skyline::random::RandomStream;
use skyline::workload::ArrivalPattern;

/// A moment planned and the moment at which it was delivered.
pub(crate) type Delivery = Vec<(Timestamp, Timestamp)>;

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::from_secs_f64(seconds)
}

/// The plan of `pattern` with this seed, before `until_s` seconds.
pub(crate) fn plan(pattern: &ArrivalPattern, seed: u64, until_s: f64) -> Vec<Timestamp> {
    let arrivals = Arrivals::new(pattern, RandomStream::named(seed, "arrivals"));
    arrivals.map(|arrival| arrival.moment).take_while(|&moment| moment < at(until_s)).collect()
}

/// What the first so many arrivals of that plan hide.
pub(crate) fn hidden(pattern: &ArrivalPattern, seed: u64, count: usize) -> LatentStates {
    LatentStates::new(pattern, RandomStream::named(seed, "arrivals"), count)
}

pub(crate) fn failed(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.outcome == Status::Missed)
}

/// Whether a run of this plan, which hides `hidden`, is invalid when it was delivered so.
pub(crate) fn invalid(pattern: &ArrivalPattern, hidden: &LatentStates, until_s: f64, delivery: &Delivery) -> bool {
    failed(&ArrivalFigures::of_delivery(pattern, hidden, at(until_s), delivery).checks(pattern))
}
