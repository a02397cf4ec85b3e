//! A closed loop of a sweep beside the open run that goes with it.

use serde::{Deserialize, Serialize};

use crate::experiment::PairedOpen;

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
