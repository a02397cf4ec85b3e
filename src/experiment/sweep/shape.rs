//! The shape of a sweep's curve: where it bends, and which of its points no other one beats.

use serde::{Deserialize, Serialize};

use super::Load;

/// Where the curve bends most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// The load at it: one that was measured.
    pub load: Load,
    /// The latency there, milliseconds.
    pub latency_ms: f64,
    /// Which latency it is, such as `p99 ttft`.
    pub latency: String,
    /// How far the normalised curve hangs below its chord there, 0 to 1.
    pub prominence: f64,
    /// The same for a person.
    pub sentence: String,
}

/// The points that no other beats in one figure without being worse in another (Pareto).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    /// What more of is better, as a key of the figures, such as `output_tokens_per_s`.
    pub gain: String,
    /// What it is paid with, such as `ttft_p99_ms`.
    pub price: String,
    /// Whether less of the price is better, as of a latency; else more of it.
    pub cheaper_is_less: bool,
    /// Its points, by ascending load.
    pub points: Vec<FrontierPoint>,
}

/// One point of a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrontierPoint {
    /// The load.
    pub load: Load,
    /// Its gain.
    pub gain: f64,
    /// Its price.
    pub price: f64,
}
