//! What instances have to carry, and how many accelerators may be taken for it.

use serde::Serialize;

/// What is asked of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityTarget {
    /// Requests per second of all instances together.
    pub target_per_s: f64,
    /// Share of each instance's highest rate that stays free, 0 to 1.
    pub headroom: f64,
    /// Accelerators of an instance, where the sweep does not say, or says otherwise than is meant.
    pub gpus_per_instance: Option<u32>,
    /// The most accelerators that may be taken.
    pub max_gpus: Option<u64>,
}

impl CapacityTarget {
    /// The rate that has to fit, headroom included, requests per second.
    #[must_use]
    pub fn with_headroom(&self) -> f64 {
        self.target_per_s / (1.0 - self.headroom)
    }

    /// The fewest instances of which each carries `per_s`, headroom included: target ÷ ((1 − headroom) · rate), rounded up.
    #[must_use]
    pub fn instances(&self, per_s: f64) -> u64 {
        // A quotient that is whole but for rounding needs no instance more.
        (self.with_headroom() / per_s * (1.0 - 1e-9)).ceil().max(1.0) as u64
    }
}
