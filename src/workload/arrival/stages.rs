//! The parts of processes whose rate changes: stages, states and spikes.

use serde::Serialize;

use crate::workload::reading::value::{Allowed, LONGEST_S, SECONDS, SpecValue};

/// Rates that may be zero.
pub(super) const RATE_OR_NONE: Allowed = Allowed::from(0.0, 1_000_000.0);
/// Seconds that may be zero.
pub(super) const SECONDS_OR_NONE: Allowed = Allowed::from(0.0, LONGEST_S);
/// No real traffic leaves a state sooner.
const STATE_S: Allowed = Allowed::from(0.01, LONGEST_S);

/// One state of [`ArrivalPattern::Markov`](crate::workload::ArrivalPattern::Markov).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateState {
    /// Requests per second in this state; may be 0.
    pub rate_per_s: f64,
    /// Mean time until the next state, seconds.
    pub mean_s: f64,
}

/// One spike of [`ArrivalPattern::Spikes`](crate::workload::ArrivalPattern::Spikes).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spike {
    /// When the rate leaves the base rate, seconds since the start of the run.
    pub at_s: f64,
    /// Requests per second at the top.
    pub rate_per_s: f64,
    /// Seconds of the linear rise; 0, a jump, when the file gives none.
    pub rise_s: f64,
    /// Seconds at the top.
    pub hold_s: f64,
    /// Seconds of the linear fall; 0, a jump, when the file gives none.
    pub fall_s: f64,
}

/// A spike relative to the rate before it, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSpike {
    /// Factor by which the rate is multiplied.
    pub times: f64,
    /// When it begins, seconds since the start of the run.
    pub at_s: f64,
    /// How long it lasts, seconds.
    pub hold_s: f64,
}

impl LoadSpike {
    /// The spike over a base rate.
    pub(in crate::workload) const fn over(self, base_rate_per_s: f64) -> Spike {
        let Self { times, at_s, hold_s } = self;
        Spike { at_s, rate_per_s: base_rate_per_s * times, rise_s: 0.0, hold_s, fall_s: 0.0 }
    }
}

/// One stage of [`ArrivalPattern::Stages`](crate::workload::ArrivalPattern::Stages): the rate changes
/// linearly from `from_rate_per_s` to `to_rate_per_s`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateStage {
    /// Length, seconds.
    pub duration_s: f64,
    /// Requests per second at its start.
    pub from_rate_per_s: f64,
    /// Requests per second at its end; as at its start, if the file does not say.
    pub to_rate_per_s: f64,
}

impl RateStage {
    /// A stage with a constant rate.
    pub const fn level(duration_s: f64, rate_per_s: f64) -> Self {
        Self { duration_s, from_rate_per_s: rate_per_s, to_rate_per_s: rate_per_s }
    }

    /// A constant rate that never ends.
    pub const fn endless(rate_per_s: f64) -> Self {
        Self::level(f64::INFINITY, rate_per_s)
    }

    pub(in crate::workload) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a stage", |fields| {
            let duration_s = fields.need("duration_s", |value| value.number(SECONDS));
            let from_rate_per_s = fields.need("from_rate_per_s", |value| value.number(RATE_OR_NONE));
            let to_rate_per_s =
                fields.or("to_rate_per_s", from_rate_per_s, |value| value.number(RATE_OR_NONE));
            Some(Self { duration_s, from_rate_per_s, to_rate_per_s })
        })
    }
}

impl RateState {
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a state", |fields| {
            let rate_per_s = fields.required("rate_per_s", |value| value.number(RATE_OR_NONE));
            let mean_s = fields.required("mean_s", |value| value.number(STATE_S));
            Some(Self { rate_per_s: rate_per_s?, mean_s: mean_s? })
        })
    }
}

impl Spike {
    /// When the rate is back at the base rate, seconds since the start of the run.
    pub fn end_s(&self) -> f64 {
        self.at_s + self.rise_s + self.hold_s + self.fall_s
    }

    /// These spikes over a base rate as stages, the last of which never ends.
    pub fn stages(base_rate_per_s: f64, spikes: &[Self]) -> Vec<RateStage> {
        let base = base_rate_per_s;
        let mut stages = Vec::new();
        let mut add = |duration_s: f64, from_rate_per_s, to_rate_per_s| {
            if duration_s > 0.0 {
                stages.push(RateStage { duration_s, from_rate_per_s, to_rate_per_s });
            }
        };
        let mut now = 0.0;
        for spike in spikes {
            add(spike.at_s - now, base, base);
            add(spike.rise_s, base, spike.rate_per_s);
            add(spike.hold_s, spike.rate_per_s, spike.rate_per_s);
            add(spike.fall_s, spike.rate_per_s, base);
            now = spike.end_s();
        }
        add(f64::INFINITY, base, base);
        stages
    }

    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a spike", |fields| {
            let spike = Self {
                at_s: fields.need("at_s", |value| value.number(SECONDS_OR_NONE)),
                rate_per_s: fields.need("rate_per_s", |value| value.number(RATE_OR_NONE)),
                rise_s: fields.or("rise_s", 0.0, |value| value.number(SECONDS_OR_NONE)),
                hold_s: fields.need("hold_s", |value| value.number(SECONDS_OR_NONE)),
                fall_s: fields.or("fall_s", 0.0, |value| value.number(SECONDS_OR_NONE)),
            };
            if fields.is_spoiled() || spike.end_s() > spike.at_s {
                return Some(spike);
            }
            fields.reject("has no duration; give it a rise, a hold or a fall")
        })
    }
}
