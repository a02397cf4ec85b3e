//! One load of a sweep: its runs, and what they say together.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::readings::PointFigures;
use super::trial::Trial;
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
    /// The objective that it misses, or comes closest to missing, as typed; absent without objectives.
    pub tightest: Option<String>,
    /// Its runs, in their order.
    pub trials: Vec<Trial>,
    /// Their figures together.
    pub figures: PointFigures,
}

/// Whether a load meets the objectives, from all of its runs (after RFC 9971, section 6: lower bound, upper bound,
/// undecided).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadClass {
    /// It surely does: a lower bound of the highest load.
    Passed,
    /// It surely does not: an upper bound.
    Failed,
    /// The server does not keep up: an upper bound whatever the figures are, which depend on how long the run was.
    Saturated,
    /// Its runs differ too much to tell.
    Undecided,
    /// Nothing is known: no run can be trusted, or none has the figure.
    Unknown,
    /// Nothing was demanded, and the server kept up.
    Measured,
}

/// What so many users hide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairedLoad {
    /// How many they are.
    pub users: u64,
    /// Name of the closed run's folder in the sweep's.
    pub run: String,
    /// Both runs.
    pub pair: PairedOpen,
}
