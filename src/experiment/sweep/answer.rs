//! The answer of a sweep: the highest load that meets the objectives.

use serde::{Deserialize, Serialize};

use super::{Judged, Load};

/// The highest load that meets all objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighestLoad {
    /// The largest load that passed below the smallest that failed; absent where none did.
    pub passed: Option<Load>,
    /// The smallest that failed or saturated the server; absent where none did, so that the answer is open above.
    pub failed: Option<Load>,
    /// Where the figure of the tightest objective crosses its bound, by monotone regression over the loads: requests per
    /// second, or users. Absent where it lies beyond all that was measured.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval, by resampling whole runs; absent where runs are too few, or it lies below all that
    /// was measured.
    pub interval_low: Option<f64>,
    /// Its upper end; absent likewise, or where it lies above.
    pub interval_high: Option<f64>,
    /// The objective that decides, as typed.
    pub tightest: Option<String>,
    /// Whether no load passed above one that failed.
    pub monotone: bool,
    /// The same for a person.
    pub sentence: String,
}

/// The found load, held for longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sustained {
    /// The load.
    pub load: Load,
    /// For how long, seconds of window.
    pub seconds: f64,
    /// Name of the run's folder in the sweep's.
    pub run: String,
    /// Whether every objective was met and the server kept up.
    pub held: bool,
    /// How it stands to each objective.
    pub judged: Vec<Judged>,
    /// The same for a person.
    pub sentence: String,
}

/// What ended a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every load of the list or ladder was measured.
    AllMeasured,
    /// So many loads one after another saturated the server that higher ones would say nothing new.
    Saturated,
    /// The bracket is as narrow as asked.
    Narrow,
    /// The loads inside the bracket stay undecided after the most runs that one gets.
    Undecided,
    /// The search has had its most runs.
    TrialsSpent,
    /// Even the lowest load misses the objectives.
    NothingPasses,
    /// The last of the loads that a search may try passed.
    EverythingPasses,
    /// A person stopped it.
    Interrupted,
}
