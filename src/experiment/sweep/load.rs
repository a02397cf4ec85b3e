//! A load on a server: a rate, users, or agents.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{counted, three_digits};

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
    /// Agents, each of whom begins a session when the one before is over.
    #[serde(rename = "agents")]
    Agents(u64),
}

impl Load {
    /// Requests per second (of conversations: those that begin), or users, or agents.
    pub fn amount(self) -> f64 {
        match self {
            Self::Rate(per_s) => per_s,
            Self::Users(number) | Self::Agents(number) => number as f64,
        }
    }

    /// A load of the same kind; users and agents are rounded to whole numbers.
    #[must_use]
    pub fn of_amount(self, amount: f64) -> Self {
        match self {
            Self::Rate(_) => Self::Rate(amount),
            Self::Users(_) => Self::Users(amount.round() as u64),
            Self::Agents(_) => Self::Agents(amount.round() as u64),
        }
    }

    /// Number of closed-loop users; `None` of a rate.
    pub const fn users(self) -> Option<u64> {
        match self {
            Self::Rate(_) => None,
            Self::Users(number) | Self::Agents(number) => Some(number),
        }
    }

    /// Its kind, as in files.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Rate(_) => "rate_per_s",
            Self::Users(_) => "users",
            Self::Agents(_) => "agents",
        }
    }
}

/// Writes the load in words: `12.5/s`, `8 users`, `8 agents`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(per_s) => f.pad(&format!("{}/s", three_digits(*per_s))),
            Self::Users(users) => f.pad(&counted(*users, "user")),
            Self::Agents(agents) => f.pad(&counted(*agents, "agent")),
        }
    }
}
