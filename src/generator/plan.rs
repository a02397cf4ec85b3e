//! The plan of a run, drawn request by request without prompts.

use std::sync::Arc;

use super::draws::class_draws::models_of;
use super::phases::PhaseTracker;
use super::request::PlannedRequest;
use super::sessions::{SessionPlanner, opening};
use crate::arrivals::Arrivals;
use crate::clock::Timestamp;
use crate::generator::datasets::draws::RowDraws;
use crate::generator::datasets::sources::Datasets;
use crate::generator::draws::class_draws::ClassDraws;
use crate::random::{RandomStream, WeightedChoice};
use crate::record::Turn;
use crate::workload::{ArrivalPattern, WorkloadSpec};

/// The requests of a whole plan in order, drawn lazily.
///
/// Every purpose has its own random stream: `arrivals` (`arrivals/NAME` where each class has its own process),
/// `classes`, and per class `input_tokens/NAME`, `output_tokens/NAME`, `priorities/NAME`, `rows/NAME`, `images/NAME`,
/// `prefix_tokens/NAME`, `prefixes/NAME` and `tenants/NAME`; `models` for all. So changing a length distribution
/// never moves an arrival, and changing one class never changes the lengths of another. [`SessionPlanner`] draws what
/// closed-loop users send.
#[derive(Clone, Debug)]
pub struct Plan {
    workload: Arc<WorkloadSpec>,
    arrivals: Arrivals,
    class_choice: WeightedChoice,
    class_stream: RandomStream,
    classes: Vec<ClassDraws>,
    /// Rows of each class's dataset, where it has an open one.
    rows: Vec<Option<RowDraws>>,
    models: Option<(WeightedChoice, RandomStream)>,
    phases: PhaseTracker,
    /// Draws the requests of closed-loop users; absent in an open loop.
    users: Option<SessionPlanner>,
}

impl Plan {
    pub(super) fn new(workload: Arc<WorkloadSpec>, datasets: &Datasets) -> Self {
        let seed = workload.seed;
        Self {
            arrivals: Arrivals::of(&workload),
            class_choice: WeightedChoice::new(workload.classes.iter().map(|class| class.weight)),
            class_stream: RandomStream::named(seed, "classes"),
            classes: workload.classes.iter().map(|class| ClassDraws::new(&workload, class)).collect(),
            rows: (workload.classes.iter().enumerate())
                .map(|(place, class)| datasets.rows(place, class, seed))
                .collect(),
            models: models_of(&workload),
            phases: PhaseTracker::new(Arc::clone(&workload)),
            users: workload
                .arrival
                .users()
                .is_some()
                .then(|| SessionPlanner::new(Arc::clone(&workload), datasets)),
            workload,
        }
    }

    /// The latest arrival drawn: once the plan has left the window, the first moment after it. If no arrival
    /// followed, just after the last.
    pub(super) fn latest_arrival(&self) -> Timestamp {
        self.phases.latest_arrival()
    }
}

impl Iterator for Plan {
    type Item = PlannedRequest;

    fn next(&mut self) -> Option<PlannedRequest> {
        let Some(arrival) = self.arrivals.next() else {
            self.phases.end();
            return None;
        };
        let scheduled = arrival.moment;
        let (index, phase) = self.phases.admit(scheduled)?;
        let mut request = match &self.users {
            Some(users) => users.opener_of(arrival.source as u64, 0)?,
            None => self.opener(arrival.source)?,
        };
        if request.turn.is_none() {
            request.turn = self.classes.get(usize::from(request.class))?.turns().map(|turns| Turn {
                session: index,
                number: 0,
                of: Some(turns.count(index)),
                begun: 0,
                history_tokens: 0,
            });
        }
        Some(PlannedRequest { index, phase, scheduled, ..request })
    }
}

impl Plan {
    /// The next request of an open loop, of class number `source` where classes have their own arrivals.
    fn opener(&mut self, source: usize) -> Option<PlannedRequest> {
        let class = match self.workload.arrival {
            ArrivalPattern::ByClass { .. } => source,
            _ => self.class_choice.draw(&mut self.class_stream),
        };
        let row = self.rows.get_mut(class)?.as_mut().map(RowDraws::draw);
        let draws = self.classes.get_mut(class)?;
        let model = self.models.as_mut().map(|(models, stream)| models.draw(stream) as u16);
        opening(&self.workload, class, draws, row, model)
    }
}
