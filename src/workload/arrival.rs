//! When requests arrive.

use serde::Serialize;

use super::reading::{Allowed, Fields, Place};
use super::window::LONGEST_S;
use super::{Trace, TraceFindings};

/// Rates that must be there. No client sends more from one machine.
pub(super) const RATE: Allowed = Allowed::above(0.0, 1_000_000.0);
/// Rates that may rest at zero.
const RATE_OR_NONE: Allowed = Allowed::from(0.0, 1_000_000.0);
/// A length of time in seconds, up to 31 days.
pub(super) const SECONDS: Allowed = Allowed::above(0.0, LONGEST_S);
/// Below 0.01 nearly all requests come in one clump; above 1000 the gaps are constant to 3 %.
const BURSTINESS: Allowed = Allowed::from(0.01, 1000.0);

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
    /// The very moments of a recorded trace, which brings the lengths of its requests along. In a file it may also
    /// stand by itself, as the table `trace`.
    Trace(Box<Trace>),
}

/// One stage of [`ArrivalPattern::Stages`]: the rate goes linearly from `from_rate_per_s` to `to_rate_per_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Length in seconds.
    pub duration_s: f64,
    /// Requests per second when the stage begins.
    pub from_rate_per_s: f64,
    /// Requests per second when the stage ends; as when it begins, if the file does not say.
    pub to_rate_per_s: f64,
}

impl ArrivalPattern {
    pub(super) fn read(place: Place<'_>) -> Option<Self> {
        place.tagged(
            "arrival",
            &[
                ("poisson", |fields| Some(Self::Poisson { rate_per_s: rate(fields)? })),
                ("constant", |fields| Some(Self::Constant { rate_per_s: rate(fields)? })),
                ("gamma", |fields| {
                    let rate_per_s = rate(fields);
                    let burstiness = fields.required("burstiness", |place| place.number(BURSTINESS));
                    Some(Self::Gamma { rate_per_s: rate_per_s?, burstiness: burstiness? })
                }),
                ("bursts", |fields| {
                    let base_rate_per_s =
                        fields.required("base_rate_per_s", |place| place.number(RATE_OR_NONE));
                    let burst_rate_per_s = fields.required("burst_rate_per_s", |place| place.number(RATE));
                    let base_s = fields.required("base_s", |place| place.number(SECONDS));
                    let burst_s = fields.required("burst_s", |place| place.number(SECONDS));
                    Some(Self::Bursts {
                        base_rate_per_s: base_rate_per_s?,
                        burst_rate_per_s: burst_rate_per_s?,
                        base_s: base_s?,
                        burst_s: burst_s?,
                    })
                }),
                ("stages", |fields| {
                    let stages = fields.required("stages", |place| place.list(Stage::read))?;
                    let pattern = Self::Stages { stages };
                    if pattern.mean_rate_per_s() > 0.0 {
                        return Some(pattern);
                    }
                    fields.complain_of(
                        "stages",
                        "has a rate of 0 throughout; give at least one stage a rate above 0",
                    );
                    None
                }),
                ("trace", |fields| Trace::read_fields(fields).map(|trace| Self::Trace(Box::new(trace)))),
            ],
        )
    }

    /// The trace that is replayed, if one is.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// What was found in that trace; none where no trace is replayed.
    #[must_use]
    pub fn found(&self) -> Option<&TraceFindings> {
        self.trace()?.found.as_ref()
    }
}

impl Stage {
    fn read(place: Place<'_>) -> Option<Self> {
        place.table("a stage", |fields| {
            let duration_s = fields.required("duration_s", |place| place.number(SECONDS));
            let from_rate_per_s = fields.required("from_rate_per_s", |place| place.number(RATE_OR_NONE));
            let flat = from_rate_per_s.unwrap_or_default();
            let to_rate_per_s = fields.optional("to_rate_per_s", flat, |place| place.number(RATE_OR_NONE));
            Some(Self {
                duration_s: duration_s?,
                from_rate_per_s: from_rate_per_s?,
                to_rate_per_s: to_rate_per_s?,
            })
        })
    }
}

fn rate(fields: &mut Fields<'_>) -> Option<f64> {
    fields.required("rate_per_s", |place| place.number(RATE))
}
