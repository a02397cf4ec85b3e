//! When requests arrive.

use serde::Serialize;

/// The process by which requests arrive. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// Independent users: exponential gaps with mean 1/rate.
    Poisson {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// A metronome: every gap is 1/rate; the first request leaves after one gap.
    Constant {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// Gamma gaps with mean 1/rate; `burstiness` is the gamma shape as in vLLM's `--burstiness`: 1 is Poisson,
    /// below 1 is burstier, above 1 more regular. The gaps' coefficient of variation is 1/√burstiness.
    Gamma {
        /// Requests per second.
        rate_per_s: f64,
        /// Gamma shape.
        burstiness: f64,
    },
    /// A Poisson process whose rate steps between two values: each period begins with `base_s` seconds at the
    /// base rate and goes on with `burst_s` seconds at the burst rate.
    Bursts {
        /// Requests per second between bursts; may be 0.
        base_rate_per_s: f64,
        /// Requests per second inside a burst.
        burst_rate_per_s: f64,
        /// Seconds at the base rate in each period.
        base_s: f64,
        /// Seconds at the burst rate in each period.
        burst_s: f64,
    },
    /// A Poisson process whose rate follows stages in time, one after the other; when the last has ended, its
    /// final rate goes on.
    Stages {
        /// The stages, in order; at least one.
        stages: Vec<Stage>,
    },
}

/// One stage of [`ArrivalPattern::Stages`]: the rate goes linearly from `from_rate_per_s` to `to_rate_per_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Length in seconds.
    pub duration_s: f64,
    /// Requests per second when the stage begins.
    pub from_rate_per_s: f64,
    /// Requests per second when the stage ends.
    pub to_rate_per_s: f64,
}
