//! The arrivals of each class by themselves, and the requests that a process is judged by.

use std::time::Duration;

use serde::Serialize;

use super::process::checks;
use super::sequence::ArrivalSequence;
use crate::analysis::judgements::Check;
use crate::arrivals::{Arrivals, LatentStates};
use crate::clock::Timestamp;
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// The arrivals of one class against the process that it declares.
///
/// The classes' random streams are independent, so each class is judged alone. Every class has the tests' small
/// chance of a false alarm, so many classes have as many.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClassArrivals {
    /// Name of the class.
    pub class: String,
    /// Arrival process of the class.
    pub arrival: ArrivalPattern,
    /// Arrivals as the plan has them.
    pub planned: Option<ArrivalSequence>,
    /// Arrivals as requests were dispatched.
    pub delivered: Option<ArrivalSequence>,
}

impl ClassArrivals {
    /// Returns the arrivals of every class of `workload`. The list is empty unless each class has a process of its own.
    /// They are taken from all requests in the order of the plan.
    pub(super) fn new(workload: &WorkloadSpec, until: Timestamp, departures: &[Departure]) -> Vec<Self> {
        let ArrivalPattern::ByClass { classes: patterns } = &workload.arrival else { return Vec::new() };
        let classes = workload.classes.iter().zip(patterns).zip(0..);
        classes
            .map(|((class, pattern), place)| {
                let own = departures.iter().filter(|request| request.class == place);
                let moments: Vec<_> = own.map(|request| (request.planned, request.delivered)).collect();
                let stream = Arrivals::stream_of(class, workload.seed);
                let hidden = LatentStates::new(pattern, stream, moments.len());
                let (planned, delivered) = sequences(pattern, &hidden, until, &moments);
                Self {
                    class: class.name.clone(),
                    arrival: pattern.clone(),
                    planned: Some(planned),
                    delivered: Some(delivered),
                }
            })
            .collect()
    }

    /// The tests of its plan and of its delivery, each said of this class.
    pub(super) fn checks(&self) -> Vec<Check> {
        let said = |check: Check| Check { sentence: format!("of {}: {}", self.class, check.sentence), ..check };
        let checks = checks(&self.arrival, self.planned.as_ref(), self.delivered.as_ref());
        checks.into_iter().flatten().map(said).collect()
    }
}

/// A request of a run as far as its arrival is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Place of its class in the workload's list.
    pub(super) class: u16,
    /// Moment when the plan dispatches it.
    pub(super) planned: Timestamp,
    /// Moment when it was dispatched.
    pub(super) delivered: Timestamp,
}

/// Returns the sequences of requests planned and delivered at these moments. A request that left on time counts as
/// delivered at its planned moment, as in [`super::figures::ArrivalFigures::of_delivery`].
pub(super) fn sequences(
    pattern: &ArrivalPattern,
    hidden: &LatentStates,
    until: Timestamp,
    moments: &[(Timestamp, Timestamp)],
) -> (ArrivalSequence, ArrivalSequence) {
    let on_time = on_time(until, moments.iter().filter(|moment| moment.0 < until).count());
    let planned: Vec<_> = moments.iter().map(|moment| moment.0).collect();
    let delivered: Vec<_> = moments
        .iter()
        .map(
            |&(planned, delivered)| {
                if planned <= delivered && delivered.since(planned) <= on_time { planned } else { delivered }
            },
        )
        .collect();
    let of = |moments| ArrivalSequence::new(pattern, hidden, until, moments);
    let sequence = of(&planned);
    let delivery = if delivered == planned { sequence.clone() } else { of(&delivered) };
    (sequence, delivery)
}

/// Returns how late a request may leave to be on time. That is a tenth of the mean gap, at least 0.1 ms and at most 1
/// ms.
fn on_time(until: Timestamp, arrivals: usize) -> Duration {
    let mean_gap = until.as_secs_f64() / arrivals.max(1) as f64;
    Duration::from_secs_f64((0.1 * mean_gap).clamp(1e-4, 1e-3))
}

#[cfg(test)]
mod tests {
    use super::super::figures::ArrivalFigures;
    use super::*;
    use crate::analysis::judgements::Status;
    use crate::analysis::test_runs::by_class;

    /// The plan of a workload until 60 s.
    fn plan(workload: &WorkloadSpec) -> Vec<(u16, Timestamp)> {
        let arrivals = Arrivals::from_workload(workload).map(|arrival| (arrival.source as u16, arrival.moment));
        arrivals.take_while(|(_, moment)| moment.as_secs_f64() < 60.0).collect()
    }

    fn failed(judged: &WorkloadSpec, requests: &[(u16, Timestamp)]) -> Vec<String> {
        let figures = ArrivalFigures::of_plan(judged, Timestamp::from_secs_f64(60.0), requests);
        let checks = figures.checks(&judged.arrival);
        let failed = checks.into_iter().filter(|check| check.outcome == Status::Missed);
        failed.map(|check| check.sentence).collect()
    }

    const STEADY: &str = r#"{ kind = "constant", rate_per_s = 2 }"#;
    const MODULATED: &str =
        r#"{ kind = "markov", states = [{ rate_per_s = 2, mean_s = 5 }, { rate_per_s = 40, mean_s = 2 }] }"#;
    const CLIENTS: &str = r#"{ kind = "population", rate_per_s = 10, clients = 30, cv = 2.5 }"#;

    #[test]
    fn each_class_is_judged_by_its_own_process_and_what_its_seed_hides() {
        for seed in 0..20 {
            let workload = by_class(seed, &[STEADY, MODULATED, CLIENTS]);
            let requests = plan(&workload);
            assert_eq!(failed(&workload, &requests), [""; 0], "seed {seed}");
            let figures = ArrivalFigures::of_plan(&workload, Timestamp::from_secs_f64(60.0), &requests);
            let whole = figures.planned.unwrap();
            let by_class: Vec<_> = figures.classes.iter().map(|class| class.planned.as_ref().unwrap()).collect();
            assert_eq!(by_class.iter().map(|class| class.arrivals).sum::<u64>(), whole.arrivals);
            assert!(by_class[0].constant_arrivals.is_some() && by_class[2].fit.is_some() && whole.fit.is_none());
            assert!(by_class[1].count_dispersion.unwrap() > 3.0, "bursts show in the counts");
        }
    }

    #[test]
    fn a_class_of_another_process_is_named() {
        let drawn = by_class(3, &[STEADY, CLIENTS]);
        let declared = by_class(3, &[STEADY, MODULATED]);
        let said = failed(&declared, &plan(&drawn));
        let named = |said: &String| said.starts_with("of class_1: ");
        assert!(!said.is_empty() && said.iter().all(named), "{said:?}");
        // With another seed the states are others too.
        let other = plan(&by_class(4, &[STEADY, MODULATED]));
        assert!(!failed(&declared, &other).is_empty());
    }
}
