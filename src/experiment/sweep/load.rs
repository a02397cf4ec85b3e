//! What is changed from run to run of a sweep: the load.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::three_digits;

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
