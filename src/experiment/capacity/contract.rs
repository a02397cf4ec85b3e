//! The capacity target: the rate to serve, and the accelerators available.

use serde::Serialize;

/// The capacity target of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityTarget {
    /// Requests per second of all instances together.
    pub target_per_s: f64,
    /// Share of each instance's highest rate that stays unused, 0 to 1.
    pub headroom: f64,
    /// Accelerators of an instance, in place of what the sweep declares.
    pub gpus_per_instance: Option<u32>,
    /// The most accelerators available.
    pub max_gpus: Option<u64>,
}

impl CapacityTarget {
    /// The rate with headroom, requests per second.
    pub fn with_headroom(&self) -> f64 {
        self.target_per_s / (1.0 - self.headroom)
    }

    /// The fewest instances that each serve `per_s`, with headroom: target ÷ ((1 − headroom) · rate), rounded up.
    pub fn instances(&self, per_s: f64) -> u64 {
        // A quotient that is whole but for rounding needs no instance more.
        (self.with_headroom() / per_s * (1.0 - 1e-9)).ceil().max(1.0) as u64
    }
}
