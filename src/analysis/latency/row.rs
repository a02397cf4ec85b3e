//! One latency over a run: its percentiles, with intervals that respect how requests depend on one another.

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeStruct as _};

use crate::analysis::figures::key::Statistic;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::{Quantile, SampleWarning, Unresolvable};

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
    /// Percentiles that the user asked for, each with its value and a reservation; empty where none were.
    pub asked: Vec<(f64, Figure, Option<SampleWarning>)>,
    /// Whether requests that follow one another are alike beyond chance; absent where there are too few to tell, and
    /// for tokens and chunks, which depend on one another anyway.
    pub dependent: Option<bool>,
    /// How many times the requests' correlation time, cautiously judged, fits into the window: with fewer than 20 it is
    /// too short for an interval. Absent where there are too few requests to tell.
    pub correlation_times: Option<f64>,
}

/// A percentile with what makes it true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Which one.
    pub quantile: Quantile,
    /// Its value, milliseconds, exact over every sample (numpy's default interpolation).
    pub figure: Figure,
    /// 95 % interval, milliseconds, which respects that requests depend on one another: never narrower than the window
    /// bears out. A side is `None` where nothing bounds it.
    pub interval: (Option<f64>, Option<f64>),
    /// How many independent samples tell as much of it as these; absent where there are too few to tell.
    pub effective_samples: Option<f64>,
    /// Why a side of the interval, or all of it, is missing.
    pub unresolvable: Option<Unresolvable>,
    /// About how many requests would tell it within a tenth of itself, by the correlation time of these; absent where
    /// that cannot be estimated.
    pub requests_for_ten_percent: Option<u64>,
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
                interval: (None, None),
                effective_samples: None,
                unresolvable: Some(Unresolvable::WindowTooShort),
                requests_for_ten_percent: None,
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
            asked: Vec::new(),
            dependent: None,
            correlation_times: None,
        })
    }

    /// Adds percentiles that the user asked for.
    #[must_use]
    pub(crate) fn asked_for(mut self, sample: &Sample, percentiles: &[f64]) -> Self {
        let of = |&percentile: &f64| {
            let mark = Quantile::mark_of(percentile / 100.0, self.n);
            Some((percentile, sample.quantile(percentile / 100.0)?, mark))
        };
        self.asked = percentiles.iter().filter_map(of).collect();
        self
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

/// The least and the most that a figure can be, where it is not known.
fn bounds(figure: Figure) -> (Option<f64>, Option<f64>) {
    match figure {
        Figure::Exact(_) => (None, None),
        open => (Some(open.at_least()), open.at_most()),
    }
}

/// A percentile that the user asked for, as it is stored.
#[derive(Serialize)]
struct AskedPercentile {
    value_ms: Option<f64>,
    at_least_ms: Option<f64>,
    at_most_ms: Option<f64>,
    mark: Option<SampleWarning>,
}

impl Serialize for LatencyRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("n", &self.n)?;
        row.serialize_entry("censored", &self.censored)?;
        row.serialize_entry("mean_ms", &self.mean_ms)?;
        row.serialize_entry("std_ms", &self.std_ms)?;
        row.serialize_entry("min_ms", &self.min.exact())?;
        let (at_least, at_most) = bounds(self.min);
        row.serialize_entry("min_at_least_ms", &at_least)?;
        row.serialize_entry("min_at_most_ms", &at_most)?;
        let usual = ["p50", "p90", "p95", "p99", "p99_9"];
        for (key, percentile) in usual.into_iter().zip(&self.percentiles) {
            row.serialize_entry(key, percentile)?;
        }
        for (percentile, figure, mark) in &self.asked {
            let key = format!("p{percentile}").replace('.', "_");
            if !usual.contains(&key.as_str()) {
                let (at_least, at_most) = bounds(*figure);
                let value = AskedPercentile {
                    value_ms: figure.exact(),
                    at_least_ms: at_least,
                    at_most_ms: at_most,
                    mark: *mark,
                };
                row.serialize_entry(&key, &value)?;
            }
        }
        row.serialize_entry("max_ms", &self.max.exact())?;
        let (at_least, at_most) = bounds(self.max);
        row.serialize_entry("max_at_least_ms", &at_least)?;
        row.serialize_entry("max_at_most_ms", &at_most)?;
        row.serialize_entry("p99_over_p50", &self.p99_over_p50())?;
        row.serialize_entry("dependent", &self.dependent)?;
        row.serialize_entry("correlation_times", &self.correlation_times)?;
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
        out.serialize_field("effective_samples", &self.effective_samples)?;
        out.serialize_field("unresolvable", &self.unresolvable)?;
        out.serialize_field("requests_for_ten_percent", &self.requests_for_ten_percent)?;
        out.serialize_field("mark", &self.mark)?;
        out.end()
    }
}
