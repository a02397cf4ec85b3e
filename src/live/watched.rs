//! What a screen reads of a run.

use std::sync::Arc;
use std::time::Duration;

use crate::analysis::Objective;
use crate::clock::{RunClock, Timestamp};
use crate::record::{PlanFacts, RunHeader};
use crate::runner::{Progress, Snapshot};
use crate::workload::WorkloadSpec;

/// A run that is shown live. The figures stay where they are counted; a screen only reads them.
#[derive(Clone, Debug)]
pub(crate) struct WatchedRun {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The engine and its model.
    pub(crate) server: String,
    /// The part of an experiment that this run is; `None` for a run by itself.
    pub(crate) part: Option<String>,
    /// Live counters.
    pub(crate) progress: Arc<Progress>,
    /// The run's clock.
    pub(crate) clock: RunClock,
    /// What is planned.
    pub(crate) plan: PlanFacts,
    /// Which requests have planned times.
    pub(crate) paced: Paced,
    /// When it stops waiting for answers.
    pub(crate) drained: Timestamp,
    /// The objectives of the run.
    pub(crate) objectives: Vec<Objective>,
}

/// Which requests leave at times that are known before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paced {
    /// Every request.
    Requests,
    /// The first request of each session; the others wait for answers.
    Sessions,
    /// None: users send the next request once the last is answered (closed loop).
    Nothing,
}

impl Paced {
    fn by(workload: &WorkloadSpec) -> Self {
        if workload.arrival.users().is_some() {
            Self::Nothing
        } else if workload.classes.iter().any(|class| class.conversation.is_some()) {
            Self::Sessions
        } else {
            Self::Requests
        }
    }
}

impl WatchedRun {
    /// The run of `header`: its part in an experiment, its objectives, counters and clock, and how long it
    /// waits for answers after its window.
    pub(crate) fn of(
        header: &RunHeader,
        (part, objectives): (Option<String>, &[Objective]),
        (progress, clock, drain): (Arc<Progress>, RunClock, Duration),
    ) -> Self {
        let RunHeader { workload, engine, plan, .. } = header;
        Self {
            workload: workload.name.clone(),
            server: format!("{}, {}", engine.engine, engine.model),
            part,
            progress,
            clock,
            drained: plan.window_end.after(drain),
            plan: plan.clone(),
            paced: Paced::by(workload),
            objectives: objectives.to_vec(),
        }
    }

    /// The current time and the state at it.
    pub(super) fn look(&self) -> (Timestamp, Snapshot) {
        let now = self.clock.now();
        (now, self.progress.snapshot(now))
    }
}
