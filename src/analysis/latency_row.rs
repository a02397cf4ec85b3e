//! One latency over a run: its moments and its percentiles.

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::{Figure, Mark, Quantile, Sample};

/// One metric over a run, milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyRow {
    /// Samples, censored ones included. Tokens for `itl`, chunks for `chunk_gap`, requests for the others.
    pub n: u64,
    /// Samples known only to exceed a bound.
    pub censored: u64,
    /// Arithmetic mean; absent when a sample is censored.
    pub mean_ms: Option<f64>,
    /// Standard deviation with n − 1; absent under two samples or when one is censored.
    pub std_ms: Option<f64>,
    /// The smallest sample.
    pub min: Figure,
    /// The largest sample.
    pub max: Figure,
    /// The percentiles of [`Quantile::ALL`], in that order.
    pub percentiles: [Percentile; 5],
}

/// A percentile with what makes it true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Which one.
    pub quantile: Quantile,
    /// Its value, milliseconds, exact over every sample (numpy's default interpolation).
    pub figure: Figure,
    /// 95 % distribution-free order-statistic interval, milliseconds; it takes samples as independent. A side
    /// is `None` where the sample cannot tell.
    pub interval: (Option<f64>, Option<f64>),
    /// A reservation, when samples are few.
    pub mark: Option<Mark>,
}

impl LatencyRow {
    /// Describes a sample; `None` for an empty one.
    #[must_use]
    pub fn of(sample: &Sample) -> Option<Self> {
        let percentile = |quantile: Quantile| {
            Some(Percentile {
                quantile,
                figure: sample.quantile(quantile.fraction())?,
                interval: sample.interval(quantile),
                mark: quantile.mark(sample.len()),
            })
        };
        let [p50, p90, p95, p99, p999] = Quantile::ALL.map(percentile);
        Some(Self {
            n: sample.len(),
            censored: sample.censored(),
            mean_ms: sample.mean(),
            std_ms: sample.std(),
            min: sample.min()?,
            max: sample.max()?,
            percentiles: [p50?, p90?, p95?, p99?, p999?],
        })
    }

    /// One of the percentiles.
    #[must_use]
    pub const fn percentile(&self, quantile: Quantile) -> &Percentile {
        &self.percentiles[quantile as usize]
    }

    /// How far the tail lies from the middle: p99 / p50, when both are known and p50 is not zero.
    #[must_use]
    pub fn p99_over_p50(&self) -> Option<f64> {
        let exact = |quantile| self.percentile(quantile).figure.exact();
        let middle = exact(Quantile::P50).filter(|&middle| middle > 0.0)?;
        Some(exact(Quantile::P99)? / middle)
    }
}

impl Serialize for LatencyRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("LatencyRow", 12)?;
        row.serialize_field("n", &self.n)?;
        row.serialize_field("censored", &self.censored)?;
        row.serialize_field("mean_ms", &self.mean_ms)?;
        row.serialize_field("std_ms", &self.std_ms)?;
        row.serialize_field("min_ms", &self.min.exact())?;
        for (key, percentile) in ["p50", "p90", "p95", "p99", "p99_9"].into_iter().zip(&self.percentiles) {
            row.serialize_field(key, percentile)?;
        }
        row.serialize_field("max_ms", &self.max.exact())?;
        row.serialize_field("p99_over_p50", &self.p99_over_p50())?;
        row.end()
    }
}

impl Serialize for Percentile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at_least = match self.figure {
            Figure::Exact(_) => None,
            Figure::AtLeast(bound) => Some(bound),
        };
        let mut out = serializer.serialize_struct("Percentile", 5)?;
        out.serialize_field("value_ms", &self.figure.exact())?;
        out.serialize_field("at_least_ms", &at_least)?;
        out.serialize_field("interval_low_ms", &self.interval.0)?;
        out.serialize_field("interval_high_ms", &self.interval.1)?;
        out.serialize_field("mark", &self.mark)?;
        out.end()
    }
}
