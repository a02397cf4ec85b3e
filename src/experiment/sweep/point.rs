//! One load of a sweep: its runs and their joint figures.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::trial::Trial;
use crate::analysis::FigureSet;
use crate::experiment::paired_open::PairedOpen;

/// One load of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// The load.
    pub load: Load,
    /// Whether it meets the objectives.
    pub class: LoadClass,
    /// The objective that it misses or comes closest to missing, as typed; absent without objectives.
    pub tightest: Option<String>,
    /// Its runs, in their order.
    pub trials: Vec<Trial>,
    /// Their figures together.
    #[cfg_attr(test, schemars(schema_with = "super::figures::schema"))]
    pub figures: FigureSet,
}

/// Whether a load meets the objectives, from all of its runs (after RFC 9971, section 6: lower bound, upper bound,
/// undecided).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadClass {
    /// It does: a lower bound of the highest load.
    Passed,
    /// It does not: an upper bound.
    Failed,
    /// The server does not keep up: an upper bound whatever the latencies, which depend on the length of the run.
    Saturated,
    /// Its runs disagree.
    Undecided,
    /// Nothing is known: no run can be trusted, or none has the figure.
    Unknown,
    /// There are no objectives, and the server kept up.
    Measured,
}

/// A closed loop beside the open run at the same throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairedLoad {
    /// Number of users.
    pub users: u64,
    /// Name of the closed run's folder in the sweep's.
    pub run: String,
    /// Both runs.
    pub pair: PairedOpen,
}
