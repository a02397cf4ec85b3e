//! The percentiles that are reported, with the number of samples each needs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{count, seconds};

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantile {
    /// Percent of the percentile in steps of 10⁻¹⁰ %.
    steps: u64,
}

impl Quantile {
    /// The median.
    pub const P50: Self = Self::per_mille(500);
    /// Nine in ten are at most this.
    pub const P90: Self = Self::per_mille(900);
    /// 95 in 100.
    pub const P95: Self = Self::per_mille(950);
    /// 99 in 100.
    pub const P99: Self = Self::per_mille(990);
    /// 999 in 1,000.
    pub const P999: Self = Self::per_mille(999);

    /// Percentiles that every latency row reports, ascending. Others are there where a user asks for them.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999];

    const STEPS: u64 = 10_000_000_000;

    const fn per_mille(share: u64) -> Self {
        Self { steps: share * Self::STEPS / 10 }
    }

    /// The percentile at so many percent, above 0 and below 100.
    pub fn from_percent(percent: f64) -> Self {
        Self { steps: (percent * Self::STEPS as f64).round() as u64 }
    }

    /// The share of samples at or below it, between 0 and 1.
    pub const fn fraction(self) -> f64 {
        self.steps as f64 / (100 * Self::STEPS) as f64
    }

    /// Whether every latency row reports it.
    pub fn is_usual(self) -> bool {
        Self::ALL.contains(&self)
    }

    /// Fewest samples that support it: the early-stopping table of MLPerf Inference at confidence 0.99.
    pub const fn floor(self) -> u64 {
        match self {
            Self::P90 => 64,
            Self::P95 => 130,
            Self::P99 => 662,
            Self::P999 => 6_636,
            _ => 1,
        }
    }

    /// Returns how many independent samples the percentile needs. From so many on nothing is reserved about it. Ten of
    /// them lie above a p99 and a p99.9, and two on each side of a median, but once in a hundred times.
    pub const fn plenty(self) -> u64 {
        match self {
            Self::P50 => 11,
            Self::P99 => 1_000,
            Self::P999 => 10_000,
            other => other.floor(),
        }
    }

    /// Says what `samples` samples are worth for the percentile. `None` when they are plenty.
    ///
    /// p99 under 1,000 and p99.9 under 10,000 samples rest on fewer than ten samples above them. Of a median it is the
    /// independent samples alone that tell.
    pub fn mark(self, samples: u64) -> Option<SampleWarning> {
        if self == Self::P50 && samples > 0 { None } else { self.mark_by_chance(samples) }
    }

    /// Marks the percentile by the rule behind [`Quantile::floor`]. Of so many samples at most 1 set in 100 has fewer
    /// than two beyond the percentile. From 1 % of the samples on there are to be ten beyond it, besides.
    pub(crate) fn mark_by_chance(self, samples: u64) -> Option<SampleWarning> {
        let tail = self.fraction().min(1.0 - self.fraction());
        let n = samples as f64;
        let fewer_than_two = (1.0 - tail).powf(n) + n * tail * (1.0 - tail).powf(n - 1.0);
        if fewer_than_two > 0.01 {
            Some(SampleWarning::TooFewSamples)
        } else if tail < 0.010_001 && n * tail < 10.0 {
            Some(SampleWarning::Indicative)
        } else {
            None
        }
    }

    /// Says how many samples the percentile needs. The words name the window that has as many at the rate of a run.
    pub(crate) fn need(self, window_s: Option<f64>) -> String {
        let time = window_s.map(|window_s| format!(", about {} at this rate", seconds(window_s.ceil())));
        format!("{self} needs {} independent samples{}", count(self.plenty()), time.unwrap_or_default())
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("p{}", self.steps as f64 / Self::STEPS as f64))
    }
}

/// A reservation about a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SampleWarning {
    /// Samples under the floor: the figure should not be relied on.
    TooFewSamples,
    /// Samples over the floor, with fewer than ten independent ones above the percentile.
    Indicative,
}

/// Reason why a figure has no useful 95 % interval. Such a reason also stands for an end that is
/// missing on one side alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Unresolvable {
    /// The window is too short against the time for which the server remembers. Or it has too few requests to tell that
    /// time. What the server does at other times may be missing.
    WindowTooShort,
    /// Too few independent samples lie beyond the percentile.
    TooFewBeyond,
    /// One run has no spread.
    TooFewRuns,
    /// A run does not know its figure, or only the least that it can be.
    UnknownInSomeRun,
}

impl SampleWarning {
    /// The gravest of several reservations.
    pub(crate) fn gravest(marks: impl Iterator<Item = Self>) -> Option<Self> {
        marks.min_by_key(|mark| *mark != Self::TooFewSamples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_is_asked_for_is_marked_by_the_same_rule() {
        for quantile in &Quantile::ALL[1..] {
            let floor = quantile.floor();
            let is_few = |samples| quantile.mark(samples) == Some(SampleWarning::TooFewSamples);
            assert!(is_few(floor - 1) && !is_few(floor), "{quantile}");
        }
        assert_eq!(Quantile::ALL.map(|usual| usual.to_string()), ["p50", "p90", "p95", "p99", "p99.9"]);
        assert_eq!(Quantile::ALL.map(Quantile::fraction), [0.5, 0.9, 0.95, 0.99, 0.999]);
        assert_eq!(Quantile::ALL.map(|usual| Quantile::from_percent(usual.fraction() * 100.0)), Quantile::ALL);
        let asked = Quantile::from_percent(99.5);
        assert_eq!((asked.is_usual(), asked.to_string(), asked.fraction()), (false, "p99.5".to_owned(), 0.995));
        assert_eq!(Quantile::from_percent(0.5).mark(500), asked.mark(500), "a tail is a tail");
        assert_eq!(Quantile::from_percent(99.95).fraction(), 0.9995);
    }

    #[test]
    fn floors_change_the_mark_at_their_own_count() {
        for (quantile, samples, mark) in [
            (Quantile::P50, 1, None),
            (Quantile::P90, 63, Some(SampleWarning::TooFewSamples)),
            (Quantile::P90, 64, None),
            (Quantile::P95, 129, Some(SampleWarning::TooFewSamples)),
            (Quantile::P95, 130, None),
            (Quantile::P99, 661, Some(SampleWarning::TooFewSamples)),
            (Quantile::P99, 662, Some(SampleWarning::Indicative)),
            (Quantile::P99, 1_000, None),
            (Quantile::P999, 6_635, Some(SampleWarning::TooFewSamples)),
            (Quantile::P999, 6_636, Some(SampleWarning::Indicative)),
            (Quantile::P999, 10_000, None),
        ] {
            assert_eq!(quantile.mark(samples), mark, "{quantile} of {samples}");
        }
    }
}
