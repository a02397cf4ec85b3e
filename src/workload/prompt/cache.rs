//! The state of the prefix cache when what counts begins.

use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

/// States of the server's prefix cache when the window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CacheState {
    /// Nothing that a session says was said before it.
    Cold,
    /// Prefixes that sessions have in common were sent once before the run.
    Warm,
    /// Prefixes were sent once, and the histories of sessions that begin in their middle.
    Primed,
}
