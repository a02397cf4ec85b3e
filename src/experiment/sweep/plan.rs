//! What decides which runs a sweep has: the plan, its axis, and the loads on it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::three_digits;
use crate::workload::WorkloadSpec;

/// What a sweep is to do. The same plan with the same runs leads to the same decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// Which loads are measured.
    pub axis: LoadAxis,
    /// What the highest load has to meet, as typed; without any there is a curve and no answer.
    pub objectives: Vec<String>,
    /// Runs of each load: of a list or a ladder all of them; in the search those after which a load is decided for the
    /// first time.
    pub repeats: u64,
    /// Requests that the window of each run is to hold; from them its length follows.
    pub samples: u64,
    /// Requests of an arrival, on average: the turns of conversations, whose rates are of those; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_arrival: Option<f64>,
    /// The shortest window of a run, seconds, also where it holds more; absent: as short as the samples let it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_s: Option<f64>,
    /// The longest window of a run, seconds, also where it holds fewer.
    pub longest_s: f64,
    /// Requests per second of the fewest users, who say by how fast they are answered how long their first run is to be;
    /// absent: that is as long as any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_users_per_s: Option<f64>,
    /// How sure the answer is to become: its 95 % interval is to be this share wide.
    pub precision: f64,
    /// Runs after which the search ends, whatever it has found.
    pub most_trials: u64,
    /// Saturated loads, one after another, after which no higher one is measured.
    pub saturated_in_a_row: u64,
    /// Seed of the first run, from which those of the others are drawn.
    pub first_seed: u64,
}

impl SweepPlan {
    /// Requests of an arrival of `spec`, on average, where `axis` is of rates and that is not one. To a thousandth, so that
    /// it is read again as it was written.
    #[must_use]
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
    /// These, requests per second, ascending.
    List {
        /// At least one.
        rates_per_s: Vec<f64>,
    },
    /// From one to another, each so many times the one before; the last is the end itself.
    Geometric {
        /// The first, requests per second.
        from_per_s: f64,
        /// The last.
        to_per_s: f64,
        /// Over 1.
        ratio: f64,
    },
    /// Where the search for the highest load that meets the objectives leads: doubled until a load fails, then refined.
    Automatic {
        /// The first, requests per second: one at which the server is surely idle most of the time.
        from_per_s: f64,
    },
    /// So many users in a closed loop, ascending.
    Users {
        /// At least one.
        users: Vec<u64>,
    },
}

impl LoadAxis {
    /// The loads that are known beforehand, low ones first; of a search there are none.
    #[must_use]
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

/// How much is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "value")]
pub enum Load {
    /// Requests per second, on average, whatever the server does.
    #[serde(rename = "rate_per_s")]
    Rate(f64),
    /// Users who each wait for an answer before they ask again.
    #[serde(rename = "users")]
    Users(u64),
}

impl Load {
    /// Requests per second (of conversations: those that begin), or users.
    #[must_use]
    pub fn amount(self) -> f64 {
        match self {
            Self::Rate(per_s) => per_s,
            Self::Users(users) => users as f64,
        }
    }

    /// A load of the same kind of so much: of users the nearest whole number.
    #[must_use]
    pub fn of_amount(self, amount: f64) -> Self {
        match self {
            Self::Rate(_) => Self::Rate(amount),
            Self::Users(_) => Self::Users(amount.round() as u64),
        }
    }
}

/// As a person reads it: `12.5/s`, `8 users`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(per_s) => f.pad(&format!("{}/s", three_digits(*per_s))),
            Self::Users(1) => f.pad("1 user"),
            Self::Users(users) => f.pad(&format!("{users} users")),
        }
    }
}
