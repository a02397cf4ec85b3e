//! The arrivals of classes that each have a process of their own.

use serde::Serialize;

use super::figures::Departure;
use super::{ArrivalFigures, ArrivalSequence};
use crate::analysis::Check;
use crate::arrivals::{Arrivals, Hidden};
use crate::clock::Timestamp;
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// The arrivals of one class beside the process that it declares.
///
/// The classes' streams of chance are independent, so each class can be judged as if it were alone. Every class has
/// the tests' small chance to be accused without fault, so many classes have as many of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassArrivals {
    /// Name of the class.
    pub class: String,
    /// Its process.
    pub arrival: ArrivalPattern,
    /// As the plan has them.
    pub planned: Option<ArrivalSequence>,
    /// As requests were let go.
    pub delivered: Option<ArrivalSequence>,
}

impl ClassArrivals {
    /// Of every class of `workload`, if each has a process of its own, from all requests in the order of the plan.
    pub(super) fn of(workload: &WorkloadSpec, until: Timestamp, departures: &[Departure]) -> Vec<Self> {
        let ArrivalPattern::ByClass { classes: patterns } = &workload.arrival else { return Vec::new() };
        let classes = workload.classes.iter().zip(patterns).zip(0..);
        classes
            .map(|((class, pattern), place)| {
                let own = departures.iter().filter(|request| request.class == place);
                let moments: Vec<_> = own.map(|request| (request.planned, request.delivered)).collect();
                let stream = Arrivals::stream_of(class, workload.seed);
                let hidden = Hidden::of(pattern, stream, moments.len());
                let figures = ArrivalFigures::of_delivery(pattern, &hidden, until, &moments);
                Self {
                    class: class.name.clone(),
                    arrival: pattern.clone(),
                    planned: figures.planned,
                    delivered: figures.delivered,
                }
            })
            .collect()
    }

    /// The tests of its plan and of its delivery, each said of this class.
    pub(super) fn checks(&self) -> Vec<Check> {
        let planned = self.planned.iter().flat_map(|planned| planned.planned_checks(&self.arrival));
        let delivered = self
            .delivered
            .iter()
            .flat_map(|delivered| delivered.delivered_checks(&self.arrival, self.planned.as_ref()));
        let said =
            |check: Check| Check { sentence: format!("of {}: {}", self.class, check.sentence), ..check };
        planned.chain(delivered).map(said).collect()
    }
}
