//! Priorities and service-level objectives of requests.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::value::SpecValue;

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

/// Upper bounds on one request's latency, milliseconds. An absent bound requires nothing.
///
/// A request meets its SLO when it completed and every given bound holds; a failed or censored request never does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Slo {
    /// Bound on time to first token, from the scheduled moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<f64>,
    /// Bound on time per output token after the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpot_ms: Option<f64>,
    /// Bound on end-to-end latency, from the scheduled moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e2e_ms: Option<f64>,
}

impl Slo {
    /// Whether there is no SLO: then requests count neither as met nor as missed.
    pub fn is_empty(&self) -> bool {
        self.ttft_ms.is_none() && self.tpot_ms.is_none() && self.e2e_ms.is_none()
    }

    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        /// A day: no user waits longer for an answer.
        const BOUND_MS: Allowed = Allowed::above(0.0, 86_400_000.0);
        let bound = |value: SpecValue<'_>| value.number(BOUND_MS);
        value.table("an SLO", |fields| {
            let ttft_ms = fields.option("ttft_ms", bound);
            let tpot_ms = fields.option("tpot_ms", bound);
            let e2e_ms = fields.option("e2e_ms", bound);
            Some(Self { ttft_ms: ttft_ms?, tpot_ms: tpot_ms?, e2e_ms: e2e_ms? })
        })
    }
}
