//! The plan of a run, drawn request by request without prompts.

use std::sync::Arc;
use std::time::Duration;

use super::request::PlannedRequest;
use super::sessions::SessionPlanner;
use crate::arrivals::{Arrival, Arrivals};
use crate::clock::Timestamp;
use crate::generator::datasets::rows::RowDraws;
use crate::generator::datasets::sources::Datasets;
use crate::generator::draws::class_draws::WorkloadDraws;
use crate::generator::traces::plan::ReplayedRequests;
use crate::generator::traces::requests::Blocks;
use crate::record::Phase;
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// The requests of a whole plan in order, drawn lazily. Each has the trace blocks that its prompt begins with.
///
/// Every purpose has its own random stream: `arrivals` (`arrivals/NAME` where each class has its own process),
/// `classes`, and per class `input_tokens/NAME`, `output_tokens/NAME`, `priorities/NAME`, `rows/NAME`, `images/NAME`,
/// `prefix_tokens/NAME`, `prefixes/NAME` and `tenants/NAME`; `models` for all. So changing a length distribution
/// never moves an arrival, and changing one class never changes the lengths of another. [`SessionPlanner`] draws what
/// closed-loop users send.
#[derive(Debug)]
pub(super) struct Plan {
    workload: Arc<WorkloadSpec>,
    draws: WorkloadDraws,
    phases: PhaseTracker,
    source: RequestSource,
}

/// Source of the moments of requests.
#[derive(Debug)]
enum RequestSource {
    Drawn(Box<DrawnRequests>),
    Replayed(Box<ReplayedRequests>),
}

/// The requests of a declared process.
#[derive(Debug)]
struct DrawnRequests {
    arrivals: Arrivals,
    /// Rows of each class's dataset, where it has an open one.
    rows: Vec<Option<RowDraws>>,
    /// First requests of closed-loop users, in order of their moments. They are absent in an open loop.
    users: Option<std::vec::IntoIter<(Timestamp, PlannedRequest)>>,
}

impl Plan {
    pub(super) fn new(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        let source = match workload.arrival.trace() {
            Some(trace) => RequestSource::Replayed(Box::new(ReplayedRequests::new(trace, &workload, datasets))),
            None => RequestSource::Drawn(Box::new(DrawnRequests {
                arrivals: Arrivals::from_workload(&workload),
                rows: datasets.rows(&workload),
                users: workload.arrival.users().map(|_| first_of_users(&workload, datasets).into_iter()),
            })),
        };
        let (draws, phases) = (WorkloadDraws::new(&workload), PhaseTracker::new(Arc::clone(&workload)));
        Self { workload, draws, phases, source }
    }

    /// Returns the latest arrival drawn. Once the plan has left the window, it is the first moment after it. If no
    /// arrival followed, just after the last.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        self.phases.latest
    }
}

impl Iterator for Plan {
    type Item = (PlannedRequest, Blocks);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            RequestSource::Drawn(drawn) if drawn.users.is_some() => {
                let first = drawn.users.as_mut().and_then(Iterator::next);
                let (scheduled, _, phase) = self.phases.admit(first.map(|(moment, _)| moment))?;
                Some((PlannedRequest { phase, scheduled, ..first?.1 }, Blocks::default()))
            }
            RequestSource::Drawn(drawn) => {
                let arrival = drawn.arrivals.next();
                let (scheduled, index, phase) = self.phases.admit(arrival.map(|arrival| arrival.moment))?;
                let request = drawn.opener(&self.workload, &mut self.draws, arrival?.source, index)?;
                Some((PlannedRequest { index, phase, scheduled, ..request }, Blocks::default()))
            }
            RequestSource::Replayed(replay) => {
                let replayed = replay.next();
                let moment = replayed.as_ref().map(|replayed| replayed.at);
                let (scheduled, index, phase) = self.phases.admit(moment)?;
                let (request, blocks) = replay.request(&self.workload, &mut self.draws, index, replayed?)?;
                Some((PlannedRequest { index, phase, scheduled, ..request }, blocks))
            }
        }
    }
}

/// The first requests of the users of a closed loop, in order of their moments.
fn first_of_users(workload: &Arc<WorkloadSpec>, datasets: &Datasets) -> Vec<(Timestamp, PlannedRequest)> {
    let planner = SessionPlanner::new(Arc::clone(workload), datasets);
    let first = |arrival: Arrival| {
        let opener = planner.opener_of(arrival.source as u64, 0)?;
        Some((planner.first_moment(&opener, arrival.moment), opener))
    };
    let mut first: Vec<_> = Arrivals::from_workload(workload).map_while(first).collect();
    first.sort_by_key(|(moment, opener)| (*moment, opener.index));
    first
}

impl DrawnRequests {
    /// The request of this index, which opens a conversation or stands alone. `source` is the number of the class where
    /// classes have their own arrivals.
    fn opener(
        &mut self,
        workload: &WorkloadSpec,
        draws: &mut WorkloadDraws,
        source: usize,
        index: u64,
    ) -> Option<PlannedRequest> {
        let class = match workload.arrival {
            ArrivalPattern::ByClass { .. } => source,
            _ => draws.class(),
        };
        let row = self.rows.get_mut(class)?.as_mut().map(RowDraws::draw);
        let model = draws.model();
        let draws = draws.classes.get_mut(class)?;
        let turn = draws.continues().then(|| draws.first_turn(index, 0, row));
        Some(PlannedRequest { turn, ..draws.opening(workload, class, row, model)? })
    }
}

/// Numbers the requests of a plan and assigns each to its part of the run.
#[derive(Clone, Debug)]
struct PhaseTracker {
    workload: Arc<WorkloadSpec>,
    next_index: u64,
    /// Last moment at which load may still arrive. It is unknown until the end of the window is known.
    cooldown_end: Option<Timestamp>,
    /// The latest arrival, inside or outside the plan.
    latest: Timestamp,
}

impl PhaseTracker {
    fn new(workload: Arc<WorkloadSpec>) -> Self {
        let cooldown_end = match workload.requests {
            Some(_) => None,
            None => Some(Timestamp::from_secs_f64(workload.horizon_s + workload.load_after_s())),
        };
        Self { workload, next_index: 0, cooldown_end, latest: Timestamp::ZERO }
    }

    /// Returns moment, index and phase of the next arrival. It is `None` at the end of the plan, or where nothing
    /// arrives any more.
    fn admit(&mut self, arrival: Option<Timestamp>) -> Option<(Timestamp, u64, Phase)> {
        let before = self.latest;
        let Some(scheduled) = arrival else {
            self.latest = Timestamp::from_nanos(before.as_nanos() + 1);
            return None;
        };
        self.latest = scheduled;
        let index = self.next_index;
        let phase = self.phase(index, scheduled);
        if phase == Phase::Cooldown {
            let load_after = Duration::from_secs_f64(self.workload.load_after_s());
            let end = *self.cooldown_end.get_or_insert_with(|| before.after(load_after));
            if scheduled >= end {
                return None;
            }
        }
        self.next_index += 1;
        Some((scheduled, index, phase))
    }

    fn phase(&self, index: u64, scheduled: Timestamp) -> Phase {
        let in_run = match self.workload.requests {
            Some(requests) => index < requests,
            None => scheduled < Timestamp::from_secs_f64(self.workload.horizon_s),
        };
        if !in_run {
            Phase::Cooldown
        } else if scheduled < Timestamp::from_secs_f64(self.workload.warmup_s) {
            Phase::Warmup
        } else {
            Phase::Measured
        }
    }
}
