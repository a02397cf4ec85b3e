//! The server's profile of itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::units::seconds;

/// A stretch of a run in which the server profiled itself, which slows it down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfiledStretch {
    /// The moment when the server was asked to begin.
    #[serde(rename = "from_ns")]
    #[cfg_attr(test, schemars(with = "u64"))]
    pub from: Timestamp,
    /// The moment when the server had written the profile.
    #[serde(rename = "to_ns")]
    #[cfg_attr(test, schemars(with = "u64"))]
    pub to: Timestamp,
    /// The fault, where the server did not do as asked or the run ended first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl fmt::Display for ProfiledStretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, failure } = self;
        match failure {
            Some(failure) => f.write_str(failure),
            None => {
                write!(f, "from {} to {} of the run", seconds(from.as_secs_f64()), seconds(to.as_secs_f64()))
            }
        }
    }
}
