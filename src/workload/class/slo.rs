//! How urgent a request is, and how soon it must be answered.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

use crate::workload::reading::spec_table;
use crate::workload::reading::value::Allowed;

/// How urgent a request is. Ordered: `High` is the most urgent.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    VariantNames,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Priority {
    /// A user is waiting.
    High,
    /// A user will look soon.
    #[default]
    Medium,
    /// No user is waiting.
    Low,
}

/// A day: no user waits longer for an answer.
pub(in crate::workload) const BOUND_MS: Allowed = Allowed::above(0.0, 86_400_000.0);

spec_table! {
    /// Upper bounds on one request's latency, milliseconds. An absent bound requires nothing.
    ///
    /// A request meets its SLO when it completed and every given bound holds; a failed or censored request never does.
    #[derive(Copy, Default)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Slo = "an SLO" {
        /// Bound on time to first token, from the scheduled moment. In a closed loop it counts from sending.
        ttft_ms: Option<f64> = option(|value| value.number(BOUND_MS)),
        /// Bound on time per output token after the first.
        tpot_ms: Option<f64> = option(|value| value.number(BOUND_MS)),
        /// Bound on end-to-end latency, from the scheduled moment; in a closed loop from sending.
        e2e_ms: Option<f64> = option(|value| value.number(BOUND_MS)),
    }
}

impl Slo {
    /// Whether there is no SLO: then requests count neither as met nor as missed.
    pub fn is_empty(&self) -> bool {
        self.ttft_ms.is_none() && self.tpot_ms.is_none() && self.e2e_ms.is_none()
    }
}
