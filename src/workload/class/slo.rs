//! What a request promises its user: priorities and service-level objectives.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::place::SpecValue;

/// How urgent a request is. Ordered: `High` is the most urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Somebody is waiting.
    High,
    /// Somebody will look soon.
    #[default]
    Medium,
    /// Nobody is waiting.
    Low,
}

impl Priority {
    pub(crate) fn read(place: SpecValue<'_>) -> Option<Self> {
        place.choice(&[("high", Self::High), ("medium", Self::Medium), ("low", Self::Low)])
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        })
    }
}

/// Upper bounds on one request's latency, milliseconds. A bound that is absent asks nothing.
///
/// A request meets its SLO when it completed and every bound given holds; a failed or censored request never does.
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
    /// Whether no bound is given: then nothing is promised, and nothing counted as kept or broken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ttft_ms.is_none() && self.tpot_ms.is_none() && self.e2e_ms.is_none()
    }
    pub(crate) fn read(place: SpecValue<'_>) -> Option<Self> {
        /// A day: no answer is awaited longer.
        const BOUND_MS: Allowed = Allowed::above(0.0, 86_400_000.0);
        let bound = |place: SpecValue<'_>| place.number(BOUND_MS).map(Some);
        place.table("an SLO", |fields| {
            let ttft_ms = fields.optional("ttft_ms", None, bound);
            let tpot_ms = fields.optional("tpot_ms", None, bound);
            let e2e_ms = fields.optional("e2e_ms", None, bound);
            Some(Self { ttft_ms: ttft_ms?, tpot_ms: tpot_ms?, e2e_ms: e2e_ms? })
        })
    }
}
