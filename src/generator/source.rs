//! Where the requests of a schedule come from: drawn from distributions, or read from a trace.

use std::sync::Arc;

use super::traces::TracePlan;
use super::{Blocks, Datasets, Plan, PlannedRequest};
use crate::clock::Timestamp;
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// The requests of a whole plan in order, each with the blocks that its prompt begins with.
pub(super) enum Source {
    Drawn(Box<Plan>),
    Replayed(Box<TracePlan>),
}

impl Source {
    pub(super) fn of(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        match workload.arrival {
            ArrivalPattern::Trace(_) => Self::Replayed(Box::new(TracePlan::new(workload))),
            _ => Self::Drawn(Box::new(Plan::new(workload, datasets))),
        }
    }

    /// The latest arrival met: once the plan has left the window, the first moment after it.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        match self {
            Self::Drawn(plan) => plan.latest_arrival(),
            Self::Replayed(plan) => plan.latest_arrival(),
        }
    }
}

impl Iterator for Source {
    type Item = (PlannedRequest, Blocks);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Drawn(plan) => plan.next().map(|request| (request, Blocks::default())),
            Self::Replayed(plan) => plan.next(),
        }
    }
}
