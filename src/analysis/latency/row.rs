//! One latency over a run: its moments and its percentiles.

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::analysis::figures::key::Statistic;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::{Quantile, SampleWarning};

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
    /// Whether requests that follow one another are alike beyond chance, so that `interval` is too narrow; absent
    /// where there are too few to tell, and for tokens and chunks, which depend on one another anyway.
    pub dependent: Option<bool>,
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
    /// 95 % interval from 20 sections of the requests in order of arrival, milliseconds: it respects that neighbours
    /// depend on one another. Absent for fewer than 100 requests, or fewer than ten samples beyond the percentile; a
    /// side is `None` where the sample cannot tell.
    pub batch_interval: Option<(Option<f64>, Option<f64>)>,
    /// Whether even those sections depend on one another, so that `batch_interval` is too narrow and only repeats of the
    /// run say how sure the figure is; absent where there is no such interval.
    pub sections_dependent: Option<bool>,
    /// A reservation, when samples are few.
    pub mark: Option<SampleWarning>,
}

impl LatencyRow {
    /// Describes a sample; `None` for an empty one.
    pub fn of(sample: &Sample) -> Option<Self> {
        let percentile = |quantile: Quantile| {
            Some(Percentile {
                quantile,
                figure: sample.quantile(quantile.fraction())?,
                interval: sample.interval(quantile),
                batch_interval: None,
                sections_dependent: None,
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
            dependent: None,
        })
    }

    /// One of the percentiles.
    pub const fn percentile(&self, quantile: Quantile) -> &Percentile {
        &self.percentiles[quantile as usize]
    }

    /// A statistic of it; `None` where it is not known.
    pub fn statistic(&self, statistic: Statistic) -> Option<Figure> {
        match statistic {
            Statistic::Mean => self.mean_ms.map(Figure::Exact),
            Statistic::Min => Some(self.min),
            Statistic::Max => Some(self.max),
            Statistic::Percentile(quantile) => Some(self.percentile(quantile).figure),
        }
    }

    /// How far the tail lies from the middle: p99 / p50, when both are known and p50 is not zero.
    pub fn p99_over_p50(&self) -> Option<f64> {
        let exact = |quantile| self.percentile(quantile).figure.exact();
        let middle = exact(Quantile::P50).filter(|&middle| middle > 0.0)?;
        Some(exact(Quantile::P99)? / middle)
    }
}

impl Percentile {
    /// How close a figure should be known: within a tenth of itself.
    const CLOSE: f64 = 0.1;

    /// The interval that respects dependence, where there is one, else the one that does not.
    pub fn best_interval(&self) -> (Option<f64>, Option<f64>) {
        self.batch_interval.unwrap_or(self.interval)
    }

    /// About how many samples, where there were `n`, would bring both ends of the interval within a tenth of the
    /// figure: widths shrink with the square root of their number. `None` where an end is not known.
    pub fn samples_for_a_tenth(&self, n: u64) -> Option<u64> {
        let value = self.figure.exact().filter(|&value| value > 0.0)?;
        let (low, high) = self.best_interval();
        let off = (value - low?).max(high? - value) / value;
        Some((n as f64 * (off / Self::CLOSE).powi(2)).ceil() as u64)
    }
}

/// The least and the most that a figure can be, where it is not known.
fn bounds(figure: Figure) -> (Option<f64>, Option<f64>) {
    match figure {
        Figure::Exact(_) => (None, None),
        open => (Some(open.at_least()), open.at_most()),
    }
}

impl Serialize for LatencyRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("LatencyRow", 17)?;
        row.serialize_field("n", &self.n)?;
        row.serialize_field("censored", &self.censored)?;
        row.serialize_field("mean_ms", &self.mean_ms)?;
        row.serialize_field("std_ms", &self.std_ms)?;
        row.serialize_field("min_ms", &self.min.exact())?;
        let (at_least, at_most) = bounds(self.min);
        row.serialize_field("min_at_least_ms", &at_least)?;
        row.serialize_field("min_at_most_ms", &at_most)?;
        for (key, percentile) in ["p50", "p90", "p95", "p99", "p99_9"].into_iter().zip(&self.percentiles) {
            row.serialize_field(key, percentile)?;
        }
        row.serialize_field("max_ms", &self.max.exact())?;
        let (at_least, at_most) = bounds(self.max);
        row.serialize_field("max_at_least_ms", &at_least)?;
        row.serialize_field("max_at_most_ms", &at_most)?;
        row.serialize_field("p99_over_p50", &self.p99_over_p50())?;
        row.serialize_field("dependent", &self.dependent)?;
        row.end()
    }
}

impl Serialize for Percentile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (at_least, at_most) = bounds(self.figure);
        let mut out = serializer.serialize_struct("Percentile", 9)?;
        out.serialize_field("value_ms", &self.figure.exact())?;
        out.serialize_field("at_least_ms", &at_least)?;
        out.serialize_field("at_most_ms", &at_most)?;
        out.serialize_field("interval_low_ms", &self.interval.0)?;
        out.serialize_field("interval_high_ms", &self.interval.1)?;
        let batch = self.batch_interval.unwrap_or_default();
        out.serialize_field("batch_interval_low_ms", &batch.0)?;
        out.serialize_field("batch_interval_high_ms", &batch.1)?;
        out.serialize_field("sections_dependent", &self.sections_dependent)?;
        out.serialize_field("mark", &self.mark)?;
        out.end()
    }
}
