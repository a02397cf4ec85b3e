//! What decides which runs a sweep has: the plan, its axis, and the loads on it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::analysis::Objective;
use crate::units::three_digits;
use crate::workload::WorkloadSpec;

/// What a sweep is to do. The same plan with the same runs leads to the same decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// Which loads are measured.
    pub axis: LoadAxis,
    /// The objectives as typed; without any there is a curve and no answer.
    pub objectives: Vec<Objective>,
    /// Runs of each load of a list or ladder; in the search, the runs after which a load is decided for the
    /// first time.
    pub repeats: u64,
    /// Requests in the window of each run, from which its length follows.
    pub samples: u64,
    /// Mean requests of an arrival, more than 1 for conversations, whose rates count conversations; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_arrival: Option<f64>,
    /// The shortest window of a run, seconds; absent: as short as the samples allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_s: Option<f64>,
    /// The longest window of a run, seconds.
    pub longest_s: f64,
    /// Requests per second of the smallest number of users, which determine the length of their first run;
    /// absent: as long as the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_users_per_s: Option<f64>,
    /// Target width of the answer's 95 % interval, as a share.
    pub precision: f64,
    /// The most runs of the search.
    pub most_trials: u64,
    /// Saturated loads in a row after which no higher load is measured.
    pub saturated_in_a_row: u64,
    /// Seed of the first run, from which the other seeds are drawn.
    pub first_seed: u64,
}

impl SweepPlan {
    /// The objectives as typed, one after another.
    pub fn objectives_in_words(&self) -> String {
        self.objectives.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    /// Mean requests of an arrival of `spec`, where `axis` has rates and the mean is not 1. Rounded to a thousandth, so
    /// that it survives writing and reading.
    pub fn requests_per_arrival(spec: &WorkloadSpec, axis: &LoadAxis) -> Option<f64> {
        let turns = (spec.mean_turns() * 1e3).round() / 1e3;
        (turns > 1.0 && !matches!(axis, LoadAxis::Users { .. })).then_some(turns)
    }
}

/// Which loads are measured, low ones first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadAxis {
    /// A list of rates.
    List {
        /// At least one.
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
    /// A search for the highest rate that meets the objectives: doubled until one fails, then refined.
    Automatic {
        /// The first rate, requests per second, at which the server is mostly idle.
        from_per_s: f64,
    },
    /// Numbers of closed-loop users.
    Users {
        /// At least one.
        users: Vec<u64>,
    },
}

impl LoadAxis {
    /// The loads known beforehand, ascending; empty for a search.
    pub fn loads(&self) -> Vec<Load> {
        match self {
            Self::Automatic { .. } => Vec::new(),
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

/// A load on a server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "value")]
pub enum Load {
    /// Requests per second on average, open loop.
    #[serde(rename = "rate_per_s")]
    Rate(f64),
    /// Users in a closed loop.
    #[serde(rename = "users")]
    Users(u64),
}

impl Load {
    /// Requests per second (of conversations: those that begin), or users.
    pub fn amount(self) -> f64 {
        match self {
            Self::Rate(per_s) => per_s,
            Self::Users(users) => users as f64,
        }
    }

    /// A load of the same kind; users are rounded to whole numbers.
    #[must_use]
    pub fn of_amount(self, amount: f64) -> Self {
        match self {
            Self::Rate(_) => Self::Rate(amount),
            Self::Users(_) => Self::Users(amount.round() as u64),
        }
    }
}

/// In words: `12.5/s`, `8 users`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(per_s) => f.pad(&format!("{}/s", three_digits(*per_s))),
            Self::Users(1) => f.pad("1 user"),
            Self::Users(users) => f.pad(&format!("{users} users")),
        }
    }
}
