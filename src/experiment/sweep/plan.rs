//! What decides which runs a sweep has: the plan, its axis, and the loads on it.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::probe::MeasuredCapacity;
use crate::analysis::{Objective, Tier};
use crate::units::{joined, listed, percent};
use crate::workload::WorkloadSpec;

/// Plan of a sweep. The same plan with the same runs leads to the same decisions.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// Loads that are measured.
    pub axis: LoadAxis,
    /// The objectives as typed, those of all tiers among them. Without any there is a curve and no answer.
    pub objectives: Vec<Objective>,
    /// The tiers, each with a highest load of its own. Empty where the objectives have one together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// Runs of each load of a list or ladder. In the search, they are the runs after which a load is decided for the
    /// first time.
    pub repeats: u64,
    /// Requests in the window of each run, from which its length follows.
    pub samples: u64,
    /// Requests in the window of each run of a search before its refinement. Absent, they are as many as of the others.
    pub first_samples: Option<u64>,
    /// Mean requests of an arrival, more than 1 for conversations. Their rates count conversations. Of agents it is
    /// that of their sessions. Absent, it is 1.
    pub requests_per_arrival: Option<f64>,
    /// The shortest window of a run, seconds; absent: as short as the samples allow.
    pub shortest_s: Option<f64>,
    /// The longest window of a run, seconds.
    pub longest_s: f64,
    /// Requests per second of the smallest number of users, or of the first of agents. This rate determines the length
    /// of their first run. Absent, it is as long as the longest.
    pub fewest_users_per_s: Option<f64>,
    /// Target width of the answer's 95 % interval. It is its upper end ÷ its lower end − 1.
    pub precision: f64,
    /// End of the search, in seconds of its runs and what is between them. The search ends where its next run would be
    /// over later than this, or a fifth later while the answer has no interval. Absent, it ends by `precision` and
    /// `most_trials` alone.
    pub within_s: Option<f64>,
    /// Time in which its runs are to fit, seconds. It is such an end of the search, as it was before the first run.
    /// Absent, their lengths follow from their requests alone.
    pub sized_for_s: Option<f64>,
    /// Time that a run takes beside its window, seconds. It is its warm-up, its last answers and the pause after it.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub between_s: f64,
    /// The most runs of the search.
    pub most_trials: u64,
    /// Saturated loads in a row after which no higher load is measured.
    pub saturated_in_a_row: u64,
    /// Seed of the first run, from which the other seeds are drawn.
    pub first_seed: u64,
}

/// Meaning of the arrivals of an open workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalUnit {
    /// Single requests.
    Requests,
    /// Conversations, whose later turns wait for the answer before them.
    Sessions,
}

impl ArrivalUnit {
    /// Unit of a workload's rates.
    pub fn from_workload(workload: &WorkloadSpec) -> Self {
        if workload.mean_turns() > 1.0 { Self::Sessions } else { Self::Requests }
    }

    /// Its name, of several.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Sessions => "sessions",
        }
    }
}

impl SweepPlan {
    /// Returns the plan as a search near the capacity that was `found`. `rest_s` are the seconds of a run beside its
    /// window and its last answers. If `fits_runs`, they are as long as the server needs to settle; where the search
    /// has an end in time, so short that enough of them fit.
    #[must_use]
    pub fn below(self, found: MeasuredCapacity, rest_s: f64, fits_runs: bool) -> Self {
        let between_s = rest_s + LAST * found.alone_s;
        let settled = self.samples.max((SETTLED_S.max(SETTLED * found.alone_s) * found.per_s) as u64);
        let in_time =
            self.within_s.map(|within_s| samples_in_time(within_s / self.runs_in_time() - between_s, found.per_s));
        let samples = if fits_runs { settled.min(in_time.unwrap_or(u64::MAX)) } else { self.samples };
        Self {
            axis: LoadAxis::search_below(found.per_s / self.requests_per_arrival.unwrap_or(1.0)),
            samples,
            first_samples: self.first_samples.filter(|first| *first < samples),
            between_s,
            ..self
        }
    }

    /// Returns the plan after `spent_s` of the time in which it is to end. At least half of that is left.
    #[must_use]
    pub fn shorter_by(self, spent_s: f64) -> Self {
        let left = |within_s: f64| (within_s - spent_s).max(within_s / 2.0).round();
        Self { within_s: self.within_s.map(left), sized_for_s: self.sized_for_s.map(left), ..self }
    }

    /// Runs until each tier has an interval, beside those of the bracket.
    pub(super) fn runs_of_intervals(&self) -> u64 {
        RUNS_OF_INTERVAL * self.tiers.len().max(1) as u64
    }

    /// Runs that a search with an end in time has by then.
    pub(super) fn runs_in_time(&self) -> f64 {
        RUNS_IN_TIME + (self.runs_of_intervals() - RUNS_OF_INTERVAL) as f64
    }

    /// Returns the objectives as typed, one after another. Those of a tier come after its name.
    pub fn objectives_in_words(&self) -> String {
        let all = |objectives: &[Objective]| joined(objectives, "; ");
        let named = self.tiers.iter().map(|tier| format!("{}: {}", tier.name, all(&tier.objectives)));
        listed(named, " · ").unwrap_or_else(|| all(&self.objectives))
    }

    /// Returns the mean requests of an arrival of `spec`. It is `None` where `axis` has users, or the mean is 1. It is
    /// rounded to a thousandth, so that it survives writing and reading.
    pub fn requests_per_arrival(spec: &WorkloadSpec, axis: &LoadAxis) -> Option<f64> {
        let turns = (spec.mean_turns() * 1e3).round() / 1e3;
        (turns > 1.0 && !matches!(axis, LoadAxis::Users { .. })).then_some(turns)
    }
}

/// Requests of a run of so many seconds.
fn samples_in_time(window_s: f64, per_s: f64) -> u64 {
    let requests = (window_s * per_s).max(FEWEST);
    // A run has three standard deviations more than its samples.
    let root = (libm::sqrt(9.0 + 4.0 * requests) - 3.0) / 2.0;
    (root * root) as u64
}

/// Seconds in which a queue settles. The other measure is `SETTLED` times the time of one request alone. Shorter runs
/// show too short a queue.
const SETTLED_S: f64 = 30.0;
const SETTLED: f64 = 20.0;
/// Number of runs that a search with an end in time has by then. It is about so many. Each has at least `FEWEST`
/// requests.
const RUNS_IN_TIME: f64 = 7.0;
/// Runs of the refinement of a tier until there is an interval.
pub(super) const RUNS_OF_INTERVAL: u64 = 5;
const FEWEST: f64 = 50.0;
/// Factor on the time of one request alone that a run's last answers take.
const LAST: f64 = 2.0;
/// A search without an interval goes on for so many times its time.
pub(super) const GRACE: f64 = 1.2;
/// A search below a known capacity begins at this share of it.
const BELOW: f64 = 0.8;

/// Returns the width of an interval in words, such as `±5 %` for 0.1. The width is its upper end ÷ its lower end − 1.
pub fn either_way(width: f64) -> String {
    format!("±{}", percent(width / 2.0))
}

/// Loads that are measured, low ones first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadAxis {
    /// A list of rates.
    List {
        /// Rates, requests per second: at least one.
        rates_per_s: Vec<f64>,
    },
    /// A geometric ladder of rates, whose last is the end itself.
    Geometric {
        /// The first, requests per second.
        from_per_s: f64,
        /// The last.
        to_per_s: f64,
        /// Over 1.
        ratio: f64,
    },
    /// Search for the highest rate that meets the objectives. It goes up until one fails, or down until one passes, and
    /// is then refined.
    Automatic {
        /// The first rate, requests per second.
        from_per_s: f64,
        /// Factor between the first rate and the next, which grows to 2. Absent, it is 2 from the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_step: Option<f64>,
    },
    /// Numbers of closed-loop users.
    Users {
        /// Numbers of users: at least one.
        users: Vec<u64>,
    },
    /// Search for the largest number of agents whose turns meet the objectives, likewise.
    Agents {
        /// The first number.
        from: u64,
    },
}

impl Default for LoadAxis {
    /// A search before it is known where that begins.
    fn default() -> Self {
        Self::search_from(1.0)
    }
}

impl LoadAxis {
    /// Returns a search from this rate on, for an answer at an unknown distance. The rate is doubled until one fails.
    pub const fn search_from(per_s: f64) -> Self {
        Self::Automatic { from_per_s: per_s, first_step: None }
    }

    /// Returns a search for an answer that is probably near `capacity_per_s` or below. `capacity_per_s` is the most
    /// requests per second that the server completes. The search begins a little below, where a queue is short.
    pub fn search_below(capacity_per_s: f64) -> Self {
        Self::Automatic { from_per_s: BELOW * capacity_per_s, first_step: Some(1.0 / BELOW) }
    }

    /// Returns the first load of a search, with the factor between it and the next. `None` where loads are listed.
    pub const fn searched(&self) -> Option<(Load, Option<f64>)> {
        match self {
            Self::Automatic { from_per_s, first_step } => Some((Load::Rate(*from_per_s), *first_step)),
            Self::Agents { from } => Some((Load::Agents(*from), None)),
            Self::List { .. } | Self::Geometric { .. } | Self::Users { .. } => None,
        }
    }

    /// The fewest users or agents; `None` for rates.
    pub fn fewest(&self) -> Option<Load> {
        match self {
            Self::Users { users } => users.first().copied().map(Load::Users),
            Self::Agents { from } => Some(Load::Agents(*from)),
            Self::List { .. } | Self::Geometric { .. } | Self::Automatic { .. } => None,
        }
    }

    /// The loads known beforehand, ascending; empty for a search.
    pub fn loads(&self) -> Vec<Load> {
        match self {
            Self::Automatic { .. } | Self::Agents { .. } => Vec::new(),
            Self::List { rates_per_s } => rates_per_s.iter().copied().map(Load::Rate).collect(),
            Self::Users { users } => users.iter().copied().map(Load::Users).collect(),
            Self::Geometric { from_per_s, to_per_s, ratio } => {
                let rates = std::iter::successors(Some(*from_per_s), |rate| Some(rate * ratio));
                let below = rates.take_while(|rate| *rate < to_per_s / (1.0 + 1e-9));
                below.chain([*to_per_s]).map(Load::Rate).collect()
            }
        }
    }
}
