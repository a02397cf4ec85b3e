//! What makes a request wait for an answer before it, and from when its latencies count.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::record::RequestRecord;
use crate::workload::{ArrivalPattern, RequestClass, WorkloadSpec};

/// Form of a load: what makes a request wait for an answer before it. The names are those of Schroeder, Wierman and
/// Harchol-Balter, *Open versus closed: a cautionary tale*, NSDI 2006: the same server under the same throughput has
/// other latencies in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadForm {
    /// Requests that wait for nothing: every one leaves at its planned moment.
    #[default]
    Open,
    /// Conversations begin at their planned moments, whatever the server does. A later turn waits for the answer before
    /// it. A slow server so meets fewer turns at once, and not fewer conversations.
    PartlyOpen,
    /// A number of users: each waits for its answer, thinks, and asks again. A slow server gets fewer requests, and the
    /// requests that it would have delayed are not measured. So does a slow client: it makes its users think for
    /// longer.
    Closed,
    /// A number of agents: each begins its next session when one is over. The requests of a session have moments, each
    /// after the ends of those that it waits for.
    Lanes,
}

impl LoadForm {
    /// The form of a workload's load.
    pub fn from_workload(workload: &WorkloadSpec) -> Self {
        let has_graphs = workload.classes.iter().any(RequestClass::has_graphs);
        if matches!(workload.arrival, ArrivalPattern::Users { .. }) {
            if has_graphs { Self::Lanes } else { Self::Closed }
        } else if workload.classes.iter().any(RequestClass::continues) {
            Self::PartlyOpen
        } else {
            Self::Open
        }
    }

    /// Whether a number of users or agents decides how much load there is.
    pub(crate) const fn is_closed(self) -> bool {
        matches!(self, Self::Closed | Self::Lanes)
    }

    /// Words for how less load is sent.
    pub(crate) const fn less_load(self) -> &'static str {
        match self {
            Self::Closed => "let fewer users ask",
            Self::Lanes => "let fewer agents work",
            Self::Open | Self::PartlyOpen => "lower the rate",
        }
    }

    /// Words for how more load is sent.
    pub(crate) const fn more_load(self) -> &'static str {
        match self {
            Self::Closed => "with more users (--users)",
            Self::Lanes => "with more agents (--agents)",
            Self::Open | Self::PartlyOpen => "at a higher rate",
        }
    }

    /// Returns the moment from which the latencies of a request count: its scheduled moment.
    ///
    /// A closed loop has no schedule. Nobody outside of it waits for a request that this program sends late, so its
    /// latencies count from sending; a wait for a slot or for a connection is part of them. A request of an agent has a
    /// moment: its tools have ended, and it waits for the client.
    pub(crate) fn begin_of(self, record: &RequestRecord) -> Timestamp {
        match self {
            Self::Open | Self::PartlyOpen | Self::Lanes => record.scheduled,
            Self::Closed => record.scheduled.after(record.held_in_client()),
        }
    }
}
