//! Routes and weights by which the requests of a run are shared out to its servers.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::units::joined;

/// Rule that chooses the server of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Route {
    /// Sessions take turns. All requests of one go to one server.
    #[default]
    Session,
    /// Requests take turns.
    RoundRobin,
    /// The server with the fewest in flight gets the request.
    Least,
    /// Tenants take turns. All requests of one go to one server.
    Tenant,
}

impl Route {
    /// Name of the route for `--route`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether servers can take more turns than others.
    pub const fn is_weighted(self) -> bool {
        matches!(self, Self::Session | Self::RoundRobin)
    }
}

/// The sharing out of requests to several servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// Rule that chooses the server of a request.
    pub route: Route,
    /// Turns of each server in a round, in the order of the servers. Left out where all take as many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
}

impl Routing {
    /// Returns the share of requests that is meant for the server at this place. Absent where nothing says it.
    pub fn share_of(&self, place: usize, servers: usize) -> Option<f64> {
        match self.route {
            Route::Session | Route::RoundRobin if self.weights.is_empty() => Some(1.0 / servers.max(1) as f64),
            Route::Session | Route::RoundRobin => {
                let all: u64 = self.weights.iter().copied().map(u64::from).sum();
                Some(f64::from(*self.weights.get(place)?) / all.max(1) as f64)
            }
            Route::Least | Route::Tenant => None,
        }
    }
}

impl fmt::Display for Routing {
    /// Writes `session, weights 3,1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.route)?;
        if self.weights.is_empty() { Ok(()) } else { write!(f, ", weights {}", joined(&self.weights, ",")) }
    }
}
