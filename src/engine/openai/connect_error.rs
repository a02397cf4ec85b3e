//! What is reported of a connection: its progress, and why there is none.

use std::time::Duration;

use crate::engine::intake::listing;
use crate::units::spoken;

/// The progress of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectProgress {
    /// The server is not ready yet.
    Waiting {
        /// The error of the server or the system.
        reason: String,
        /// How long the wait has lasted.
        elapsed: Duration,
        /// How long it may last for this reason.
        limit: Duration,
    },
    /// Its page of health fails, and it lists its models: the test request decides.
    HealthPassedOver {
        /// Answer of the page, in a sentence.
        reason: String,
    },
    /// No model was given; this is the first of those listed.
    ModelChosen {
        /// Its name.
        model: String,
        /// Number of models listed.
        listed: usize,
    },
}

/// Why a server cannot be used. Its message has a `hint:` line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The target is invalid.
    #[error("{0}")]
    Setup(String),
    /// The server did not become ready in time.
    #[error("{url} was not ready within {}: {reason}\nhint: {hint}", spoken(*.waited))]
    NotReady {
        /// The server.
        url: String,
        /// How long the wait lasted.
        waited: Duration,
        /// The last reason.
        reason: String,
        /// The remedy.
        hint: String,
    },
    /// The server answers, but waiting cannot help.
    #[error("{url} cannot be used: {reason}\nhint: {hint}")]
    Unusable {
        /// The server.
        url: String,
        /// The reason why it cannot be used.
        reason: String,
        /// The remedy.
        hint: String,
    },
    /// Some of the workload's models are not served.
    #[error("{url} does not serve {}; it lists: {}\nhint: {hint}", quoted(.unknown), listing(.listed))]
    UnknownModels {
        /// The server.
        url: String,
        /// The unknown models.
        unknown: Vec<String>,
        /// The listed models.
        listed: Vec<String>,
        /// The remedy.
        hint: String,
    },
    /// No model was given and none can be found.
    #[error("{url} does not list its models ({reason})\nhint: {hint}")]
    NoModel {
        /// The server.
        url: String,
        /// The answer to the list request.
        reason: String,
        /// The remedy.
        hint: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
