//! A run that is looked at, and the figures a screen reads of it.

use std::sync::Arc;
use std::time::Duration;

use crate::analysis::Objective;
use crate::clock::{RunClock, Timestamp};
use crate::record::{PlanFacts, RunHeader};
use crate::runner::{Progress, Snapshot};
use crate::workload::WorkloadSpec;

/// A run that is looked at. Its figures stay where they are counted: a screen only reads them.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The workload that is flown.
    pub workload: String,
    /// Who answers: the engine and its model.
    pub server: String,
    /// What it is part of, and which part; absent for a run by itself.
    pub part: Option<String>,
    /// Its figures.
    pub progress: Arc<Progress>,
    /// Its clock.
    pub clock: RunClock,
    /// What is planned.
    pub plan: PlanFacts,
    /// What of it leaves at moments that are known before.
    pub paced: Paced,
    /// When it stops waiting for answers.
    pub drained: Timestamp,
    /// What is demanded of it.
    pub objectives: Vec<Objective>,
}

/// What leaves at moments that are known before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paced {
    /// Every request.
    Requests,
    /// The first request of each session; the others wait for answers.
    Sessions,
    /// Nothing: users ask again once they are answered.
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

impl Watched {
    /// The run that `header` is of: which part of what, what is demanded of it; where its figures are, its clock, and how
    /// long it waits for answers after its window.
    #[must_use]
    pub fn of(
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

    /// The moment, and what is known then.
    pub(super) fn look(&self) -> (Timestamp, Snapshot) {
        let now = self.clock.now();
        (now, self.progress.snapshot(now))
    }
}
