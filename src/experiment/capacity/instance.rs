//! The rate to serve, and what one instance of a sweep carries of it.

use serde::Serialize;

use crate::analysis::Metric;
use crate::experiment::sweep::{Load, Sweep, SweepPoint};

/// The highest rate of one instance, requests per second, by the figure that it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Basis {
    /// The lower end of the 95 % interval of the highest rate.
    IntervalLow {
        /// Rate at the lower end, requests per second.
        rate_per_s: f64,
    },
    /// The largest rate that passed: runs were too few for an interval.
    Passed {
        /// Rate that passed, requests per second.
        rate_per_s: f64,
    },
}

impl Basis {
    /// Returns the basis of `sweep`. It is `None` where no rate surely met the objectives, or none was demanded. The
    /// rates of a sweep are those of arrivals, of which a conversation has a request each turn.
    pub(super) fn from_sweep(sweep: &Sweep) -> Option<Self> {
        let answer = sweep.answer.as_ref()?;
        let Some(Load::Rate(passed)) = answer.passed else { return None };
        let turns = sweep.workload.mean_turns();
        Some(match answer.interval_low {
            Some(low) => Self::IntervalLow { rate_per_s: low * turns },
            None => Self::Passed { rate_per_s: passed * turns },
        })
    }

    /// Requests per second.
    pub const fn per_s(self) -> f64 {
        match self {
            Self::IntervalLow { rate_per_s } | Self::Passed { rate_per_s } => rate_per_s,
        }
    }

    /// The figure, in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::IntervalLow { .. } => "the lower end of its 95 % interval",
            Self::Passed { .. } => "the largest rate that passed",
        }
    }
}

/// Returns the mean answer tokens of a request. They are by the flows of the point with the most completed requests
/// below the answer.
pub(super) fn tokens_per_request(sweep: &Sweep) -> Option<f64> {
    let mean = |point: &SweepPoint| {
        if let Some(lengths) = point.figures.metric(Metric::AnswerTokens) {
            return lengths.mean;
        }
        // Sweeps of older versions have rates alone, of which each end of the window shows its own part.
        let tokens = point.figures.metric(Metric::OutputTokens)?.mean?;
        let requests = point.figures.metric(Metric::RequestRate)?.mean?;
        (requests > 0.0).then(|| tokens / requests)
    };
    let settled = sweep.points.iter().filter(|point| !point.class.fails());
    settled.rev().find_map(mean).or_else(|| sweep.points.iter().find_map(mean))
}

/// Returns the share of the requests within their SLO at a measured rate. It is the smallest rate that is no lower than
/// `per_s`, a rate of the sweep.
pub(super) fn slo_share(sweep: &Sweep, per_s: f64) -> Option<f64> {
    let mut at_least = sweep.points.iter().filter(|point| point.load.amount() >= per_s * (1.0 - 1e-9));
    at_least.find_map(|point| point.figures.metric(Metric::SloAttainment)?.mean)
}

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

    /// Returns the fewest instances that each serve `per_s`, with headroom. They are target ÷ ((1 − headroom) · rate),
    /// rounded up.
    pub fn instances(&self, per_s: f64) -> u64 {
        // A quotient that is whole but for rounding needs no instance more.
        (self.with_headroom() / per_s * (1.0 - 1e-9)).ceil().max(1.0) as u64
    }
}
