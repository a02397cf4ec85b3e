//! How long people take before they go on.

use serde::Serialize;

use super::reading::{Allowed, Fields, Place};
use super::window::LONGEST_S;

/// A pause, or its mean.
const PAUSE: Allowed = Allowed::from(0.0, LONGEST_S);
/// The centre of pauses that vary.
const CENTRE: Allowed = Allowed::above(0.0, LONGEST_S);
/// At 5, one pause in forty is 18,000 times the median.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);

/// A distribution of pauses, in seconds, from the end of an answer to the next request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ThinkTime {
    /// Always `value` seconds; a number in a file means this.
    Constant {
        /// Seconds.
        value: f64,
    },
    /// Any pause from `min` to `max`, equally likely.
    Uniform {
        /// The shortest, seconds.
        min: f64,
        /// The longest, seconds.
        max: f64,
    },
    /// Exponential: no pause is more likely to end for having lasted.
    Exponential {
        /// Mean, seconds.
        mean: f64,
    },
    /// Log-normal, as the times that people take to read and write have been found to be.
    LogNormal {
        /// Median, seconds (exp(μ)).
        median: f64,
        /// Standard deviation of the logarithm (σ).
        sigma: f64,
    },
}

impl Default for ThinkTime {
    /// None at all.
    fn default() -> Self {
        Self::Constant { value: 0.0 }
    }
}

impl ThinkTime {
    /// Reads a distribution, or a number in place of a constant.
    pub(super) fn read(place: Place<'_>) -> Option<Self> {
        if place.is_number() {
            return Some(Self::Constant { value: place.number(PAUSE)? });
        }
        place.tagged(
            "think time",
            &[
                ("constant", |fields| Some(Self::Constant { value: seconds(fields, "value", PAUSE)? })),
                ("uniform", |fields| {
                    let (min, max) = (seconds(fields, "min", PAUSE), seconds(fields, "max", PAUSE));
                    let (min, max) = (min?, max?);
                    if min <= max {
                        return Some(Self::Uniform { min, max });
                    }
                    let sentence = format!("is {min}, above `max`, which is {max}; swap them or move one");
                    fields.complain_of("min", &sentence);
                    None
                }),
                ("exponential", |fields| Some(Self::Exponential { mean: seconds(fields, "mean", CENTRE)? })),
                ("log_normal", |fields| {
                    let median = seconds(fields, "median", CENTRE);
                    let sigma = fields.required("sigma", |place| place.number(SIGMA));
                    Some(Self::LogNormal { median: median?, sigma: sigma? })
                }),
            ],
        )
    }

    /// Expected seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { min, max } => f64::midpoint(min, max),
            Self::Exponential { mean } => mean,
            // e^(μ + σ²/2)
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
        }
    }
}

fn seconds(fields: &mut Fields<'_>, name: &'static str, allowed: Allowed) -> Option<f64> {
    fields.required(name, |place| place.number(allowed))
}
