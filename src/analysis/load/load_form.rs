//! The form of a load: what makes a request wait for an answer before it.

use serde::Serialize;

use crate::workload::{ArrivalPattern, WorkloadSpec};

/// What makes a request wait for an answer before it. The names are those of Schroeder, Wierman and Harchol-Balter, *Open
/// versus closed: a cautionary tale*, NSDI 2006: the same server under the same throughput has other latencies in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadForm {
    /// Nothing: every request leaves at its planned moment.
    #[default]
    Open,
    /// Conversations begin at their planned moments, whatever the server does; a later turn waits for the answer before
    /// it. A slow server so meets fewer turns at once, and not fewer conversations.
    PartlyOpen,
    /// So many users: each waits for its answer, thinks, and asks again. A slow server meets fewer requests, and what it
    /// would have kept waiting is not there to be measured.
    Closed,
}

impl LoadForm {
    /// The form of a workload's load.
    pub fn of(workload: &WorkloadSpec) -> Self {
        if matches!(workload.arrival, ArrivalPattern::Users { .. }) {
            Self::Closed
        } else if workload.classes.iter().any(|class| class.conversation.is_some()) {
            Self::PartlyOpen
        } else {
            Self::Open
        }
    }
}
