//! One latency over a run: its percentiles, with intervals that respect how requests depend on one another.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeStruct as _};

use crate::analysis::figures::{Figure, Quantile, Sample, SampleWarning, Statistic, Unresolvable};

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
    /// Percentiles that the user asked for, ascending; empty where none were asked for.
    pub asked: Vec<Percentile>,
    /// Whether requests that follow one another are alike beyond chance. Absent where there are too few to tell, and
    /// for tokens and chunks, which depend on one another anyway.
    pub dependent: Option<bool>,
    /// Length of the window in correlation times of the requests, cautiously judged. With fewer than 20 it is too short
    /// for an interval. Of a pace of tokens, where the rate is even, that of the number in flight, and ten are enough.
    /// Absent where there are too few requests to tell.
    pub correlation_times: Option<f64>,
}

/// A percentile with what makes it true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Quantile of the percentile.
    pub quantile: Quantile,
    /// Value of the percentile, milliseconds, exact over every sample (numpy's default interpolation).
    pub figure: Figure,
    /// 95 % interval, milliseconds, which respects that requests depend on one another. It is never narrower than the
    /// window bears out. A side is `None` where nothing bounds it.
    pub interval: (Option<f64>, Option<f64>),
    /// Number of independent samples that tell as much of it as these. Absent where there are too few to tell.
    pub effective_samples: Option<f64>,
    /// Why a side of the interval, or all of it, is missing.
    pub unresolvable: Option<Unresolvable>,
    /// Approximate number of requests that would tell it within a tenth of itself. It follows from the correlation time
    /// of these. Absent where that cannot be estimated.
    pub requests_for_ten_percent: Option<u64>,
    /// Approximate number of requests that would give its interval both ends. Absent where it has both, or that cannot
    /// be estimated.
    pub requests_for_both_ends: Option<u64>,
    /// A reservation, when samples are few.
    pub mark: Option<SampleWarning>,
}

impl LatencyRow {
    /// Describes a sample by the usual percentiles and those that the user asked for. The latter are in percent. `None`
    /// for an empty sample.
    pub(crate) fn new(sample: &Sample, percents: &[f64]) -> Option<Self> {
        let [p50, p90, p95, p99, p999] = Quantile::ALL.map(|quantile| Percentile::new(quantile, sample));
        let quantiles: BTreeSet<_> = percents.iter().copied().map(Quantile::from_percent).collect();
        Some(Self {
            n: sample.len(),
            censored: sample.censored(),
            mean_ms: sample.mean(),
            std_ms: sample.std(),
            min: sample.min()?,
            max: sample.max()?,
            percentiles: [p50?, p90?, p95?, p99?, p999?],
            asked: quantiles.into_iter().filter_map(|asked| Percentile::new(asked, sample)).collect(),
            dependent: None,
            correlation_times: None,
        })
    }

    /// Returns the percentile that a statistic is. `None` where it is none, or was not asked for.
    pub fn at(&self, statistic: Statistic) -> Option<&Percentile> {
        match statistic {
            Statistic::Percentile(quantile) => self.shown().find(|shown| shown.quantile == quantile),
            Statistic::Mean | Statistic::Min | Statistic::Max => None,
        }
    }

    /// The usual percentiles and those that the user asked for beside them, each once.
    pub fn shown(&self) -> impl Iterator<Item = &Percentile> {
        self.percentiles.iter().chain(self.asked.iter().filter(|asked| !asked.quantile.is_usual()))
    }

    /// Returns a percentile that every row has. Of another it is the nearest of these below it.
    pub fn percentile(&self, quantile: Quantile) -> &Percentile {
        let [first, others @ ..] = &self.percentiles;
        others.iter().rfind(|own| own.quantile <= quantile).unwrap_or(first)
    }

    /// A statistic of it; `None` where it is not known.
    pub fn statistic(&self, statistic: Statistic) -> Option<Figure> {
        match statistic {
            Statistic::Mean => self.mean_ms.map(Figure::Exact),
            Statistic::Min => Some(self.min),
            Statistic::Max => Some(self.max),
            Statistic::Percentile(_) => Some(self.at(statistic)?.figure),
        }
    }

    /// Returns the distance of the tail from the middle, p99 / p50. `None` unless both are known and p50 is not zero.
    pub fn p99_over_p50(&self) -> Option<f64> {
        let exact = |quantile| self.percentile(quantile).figure.exact();
        let middle = exact(Quantile::P50).filter(|&middle| middle > 0.0)?;
        Some(exact(Quantile::P99)? / middle)
    }
}

impl Percentile {
    /// Returns the percentile of a sample, so far without an interval. `None` where there is no sample.
    fn new(quantile: Quantile, sample: &Sample) -> Option<Self> {
        Some(Self {
            quantile,
            figure: sample.quantile(quantile.fraction())?,
            interval: (None, None),
            effective_samples: None,
            unresolvable: Some(Unresolvable::WindowTooShort),
            requests_for_ten_percent: None,
            requests_for_both_ends: None,
            mark: quantile.mark(sample.len()),
        })
    }
}

impl Serialize for LatencyRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("n", &self.n)?;
        row.serialize_entry("censored", &self.censored)?;
        row.serialize_entry("mean_ms", &self.mean_ms)?;
        row.serialize_entry("std_ms", &self.std_ms)?;
        row.serialize_entry("min_ms", &self.min.exact())?;
        let (at_least, at_most) = self.min.bounds();
        row.serialize_entry("min_at_least_ms", &at_least)?;
        row.serialize_entry("min_at_most_ms", &at_most)?;
        let key = |name: String| name.replace('.', "_");
        for percentile in self.shown() {
            row.serialize_entry(&key(percentile.quantile.to_string()), percentile)?;
        }
        row.serialize_entry("max_ms", &self.max.exact())?;
        let (at_least, at_most) = self.max.bounds();
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
        let (at_least, at_most) = self.figure.bounds();
        let mut out = serializer.serialize_struct("Percentile", 10)?;
        out.serialize_field("value_ms", &self.figure.exact())?;
        out.serialize_field("at_least_ms", &at_least)?;
        out.serialize_field("at_most_ms", &at_most)?;
        out.serialize_field("interval_low_ms", &self.interval.0)?;
        out.serialize_field("interval_high_ms", &self.interval.1)?;
        out.serialize_field("effective_samples", &self.effective_samples)?;
        out.serialize_field("unresolvable", &self.unresolvable)?;
        out.serialize_field("requests_for_ten_percent", &self.requests_for_ten_percent)?;
        out.serialize_field("requests_for_both_ends", &self.requests_for_both_ends)?;
        out.serialize_field("mark", &self.mark)?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    //! Percentiles that were asked for.

    use super::*;

    /// The p99.5 of 1 to 401 ms is 1 + 0.995 · 400, by numpy. A usual percentile is the same with and without being
    /// asked for.
    #[test]
    fn percentiles_that_are_asked_for_come_once_each_and_in_order() {
        let values: Vec<f64> = (1..=401).map(f64::from).collect();
        let row = LatencyRow::new(&Sample::new(values), &[99.5, 95.0, 99.5, 10.0]).unwrap();
        let shown: Vec<_> =
            row.asked.iter().map(|asked| (asked.quantile.to_string(), asked.figure.at_least())).collect();
        assert_eq!(shown, [("p10".to_owned(), 41.0), ("p95".to_owned(), 381.0), ("p99.5".to_owned(), 399.0)]);
        assert_eq!(row.asked[1], *row.percentile(Quantile::P95));
        assert_eq!((row.shown().count(), row.at(Statistic::Percentile(row.asked[2].quantile))), (7, row.asked.last()));
        let stored = serde_json::to_value(&row).unwrap();
        assert_eq!(
            (&stored["p99_5"]["value_ms"], &stored["p99_5"]["mark"]),
            (&399.0.into(), &"too_few_samples".into())
        );
        assert_eq!(stored.as_object().unwrap().keys().filter(|key| key.starts_with("p95")).count(), 1);
    }

    #[test]
    fn the_tail_is_a_multiple_of_the_middle() {
        let ratio = |values: &[f64]| LatencyRow::in_order(values).unwrap().p99_over_p50();
        assert_eq!(ratio(&[50.0; 3]), Some(1.0));
        assert_eq!(ratio(&[[20.0; 100], [70.0; 100]].concat()[..150]), Some(3.5));
        assert_eq!((ratio(&[0.0; 3]), ratio(&[0.0, 0.0, 9.0])), (None, None));
    }

    /// Answers cut off after 40 and 60 ms have no upper bound of the times.
    #[test]
    fn what_is_known_only_within_bounds_is_stored_with_them() {
        let row = LatencyRow::new(&Sample::new(vec![10.0]).and_at_least([40.0, 60.0]), &[]).unwrap();
        let stored = serde_json::to_value(&row).unwrap();
        assert_eq!((&stored["min_ms"], &stored["min_at_least_ms"]), (&10.0.into(), &().into()));
        assert_eq!((&stored["max_ms"], &stored["max_at_least_ms"]), (&().into(), &60.0.into()));
        assert_eq!((&stored["max_at_most_ms"], &stored["p50"]["at_most_ms"]), (&().into(), &().into()));
    }
}
