//! The whole recipe of a run.

use serde::Serialize;

use super::{ArrivalPattern, RequestClass};

/// A workload: which requests arrive, when, for how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadSpec {
    /// Name, used in reports and in the names of result folders: letters, digits, `_` and `-`.
    pub name: String,
    /// One or two sentences for `skyline workloads`.
    pub description: String,
    /// Seed of every random stream of the schedule.
    pub seed: u64,
    /// Requests scheduled before this many seconds belong to the run; later ones only keep the load up while
    /// the last of them finish.
    pub horizon_s: f64,
    /// When given, the run has this many requests, warm-up included, in place of ending at `horizon_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Requests scheduled in the first `warmup_s` seconds are flown but not counted.
    pub warmup_s: f64,
    /// How long after the horizon to wait for requests still running before they are censored, seconds.
    pub drain_s: f64,
    /// When requests arrive.
    pub arrival: ArrivalPattern,
    /// The kinds of request; at least one.
    pub classes: Vec<RequestClass>,
}

impl<'de> serde::Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: serde::Deserializer<'de>>(_deserializer: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("reading specs is in the making"))
    }
}
