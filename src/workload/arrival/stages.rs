//! The parts of processes whose rate changes: stages, states and spikes.

use crate::workload::reading::spec_table;
use crate::workload::reading::value::{Allowed, LONGEST_S, SECONDS};

/// Rates that may be zero.
pub(in crate::workload) const RATE_OR_NONE: Allowed = Allowed::from(0.0, 1_000_000.0);
/// Seconds that may be zero.
pub(super) const SECONDS_OR_NONE: Allowed = Allowed::from(0.0, LONGEST_S);
/// No real traffic leaves a state sooner.
const STATE_S: Allowed = Allowed::from(0.01, LONGEST_S);

spec_table! {
    /// One state of [`ArrivalPattern::Markov`](crate::workload::ArrivalPattern::Markov).
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct RateState = "a state" {
        /// Requests per second in this state; may be 0.
        rate_per_s: f64 = required(|value| value.number(RATE_OR_NONE)),
        /// Mean time until the next state, seconds.
        mean_s: f64 = required(|value| value.number(STATE_S)),
    }
}

spec_table! {
    /// One spike of [`ArrivalPattern::Spikes`](crate::workload::ArrivalPattern::Spikes).
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Spike = "a spike" {
        /// When the rate leaves the base rate, seconds since the start of the run.
        at_s: f64 = required(|value| value.number(SECONDS_OR_NONE)),
        /// Requests per second at the top.
        rate_per_s: f64 = required(|value| value.number(RATE_OR_NONE)),
        /// Seconds of the linear rise; 0, a jump, when the file gives none.
        rise_s: f64 = optional(0.0, |value| value.number(SECONDS_OR_NONE)),
        /// Seconds at the top.
        hold_s: f64 = required(|value| value.number(SECONDS_OR_NONE)),
        /// Seconds of the linear fall; 0, a jump, when the file gives none.
        fall_s: f64 = optional(0.0, |value| value.number(SECONDS_OR_NONE)),
    }
    check(fields) {
        if at_s? + rise_s? + hold_s? + fall_s? <= at_s? {
            return fields.reject("has no duration; give it a rise, a hold or a fall");
        }
    }
}

/// A spike relative to the rate before it, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSpike {
    /// Factor by which the rate is multiplied.
    pub times: f64,
    /// Moment when it begins, seconds since the start of the run.
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

spec_table! {
    /// One stage of [`ArrivalPattern::Stages`](crate::workload::ArrivalPattern::Stages): the rate changes linearly from
    /// `from_rate_per_s` to `to_rate_per_s`.
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct RateStage = "a stage" {
        /// Length, seconds.
        duration_s: f64 = required(|value| value.number(SECONDS)),
        /// Requests per second at its start.
        from_rate_per_s: f64 = required(|value| value.number(RATE_OR_NONE)),
        /// Requests per second at its end. They are as at its start, if the file does not say.
        to_rate_per_s: f64 = optional(from_rate_per_s.unwrap_or_default(), |value| value.number(RATE_OR_NONE)),
    }
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
}

impl Spike {
    /// Returns when the rate is back at the base rate. It is in seconds since the start of the run.
    pub fn end_s(&self) -> f64 {
        self.at_s + self.rise_s + self.hold_s + self.fall_s
    }

    /// Returns these spikes over a base rate as stages. The last of them never ends.
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
}
