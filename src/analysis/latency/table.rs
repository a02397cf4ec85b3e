//! The latencies of a run: a row for each, and the table of all.

use serde::Serialize;
use serde::ser::SerializeStruct;

use super::dependence;
use super::gaps::{Gaps, Received, Stalls};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::key::Statistic;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::{Quantile, SampleWarning};
use crate::analysis::requests::observed::{Measured, Observed};

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

/// Every latency of a run. A metric without a sample is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTable {
    rows: Vec<(Metric, LatencyRow)>,
}

impl LatencyTable {
    /// The row of `metric`.
    pub fn row(&self, metric: Metric) -> Option<&LatencyRow> {
        self.rows.iter().find(|(of, _)| *of == metric).map(|(_, row)| row)
    }

    /// A percentile of `metric`.
    pub fn percentile(&self, metric: Metric, quantile: Quantile) -> Option<&Percentile> {
        self.row(metric).map(|row| row.percentile(quantile))
    }

    /// The rows that there are, in the order of [`Metric::LATENCIES`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &LatencyRow)> {
        self.rows.iter().map(|(metric, row)| (*metric, row))
    }

    /// All metrics over every measured request.
    pub(crate) fn of_run(observed: &Observed<'_>) -> (Self, Stalls) {
        let capped = observed.log.header.limits.max_concurrency.is_some();
        // Where no answer reasoned first, none that is cut off was about to.
        let reasoned =
            observed.requests.iter().any(|request| request.latency.ttfa.and_then(Figure::exact).is_some());
        let mut gaps = Gaps::default();
        // What an answer had sent until it was cut off was received like any other.
        let answers: Vec<Received<'_>> =
            observed.requests.iter().filter_map(|request| Received::of(request.record)).collect();
        for answer in &answers {
            gaps.add(*answer);
        }
        let (chunk_gap, itl, stalls) = gaps.finish();
        let table = Self::from_rows(Metric::LATENCIES, |metric| match metric {
            Metric::Itl => of_answers(&itl, &answers, Received::token_gaps),
            Metric::ChunkGap => of_answers(&chunk_gap, &answers, Received::chunk_gaps),
            Metric::QueueWait if !capped => None,
            Metric::Ttfa if !reasoned => None,
            metric => {
                let figures = figures(observed.requests.iter(), metric);
                let mut row = of_requests(&figures)?;
                row.dependent = dependence::are_dependent(&figures);
                Some(row)
            }
        });
        (table, stalls)
    }

    /// The metrics of a group of requests.
    pub(crate) fn of_group(requests: &[&Measured<'_>]) -> Self {
        Self::from_rows([Metric::Ttft, Metric::Tpot, Metric::E2e], |metric| {
            of_requests(&figures(requests.iter().copied(), metric))
        })
    }

    fn from_rows<const N: usize>(metrics: [Metric; N], row: impl Fn(Metric) -> Option<LatencyRow>) -> Self {
        Self { rows: metrics.into_iter().filter_map(|metric| Some((metric, row(metric)?))).collect() }
    }
}

impl LatencyRow {
    /// Describes a latency that each request has one of, the requests in order of arrival; `None` without any.
    pub fn in_order(values: &[f64]) -> Option<Self> {
        let figures: Vec<Figure> = values.iter().copied().map(Figure::Exact).collect();
        let mut row = of_requests(&figures)?;
        row.dependent = dependence::are_dependent(&figures);
        Some(row)
    }

    /// Describes the gaps inside answers, of each answer its own, the answers in order of arrival; `None` without any.
    pub fn of_gaps(answers: &[&[f64]]) -> Option<Self> {
        let sample = Sample::new(answers.iter().copied().flatten().copied().collect());
        let mut row = Self::of(&sample)?;
        dependence::add_intervals(&mut row, &sample, answers, |gaps, take| {
            gaps.iter().for_each(|gap| take(*gap, 1));
        });
        Some(row)
    }
}

/// The figures of a latency that each request has one of, in order of arrival.
fn figures<'r, 'a: 'r>(requests: impl Iterator<Item = &'r Measured<'a>>, metric: Metric) -> Vec<Figure> {
    requests.filter_map(|request| request.latency.get(metric)).collect()
}

/// The row of one figure a request, in order of arrival; `None` without one.
pub(crate) fn of_requests(figures: &[Figure]) -> Option<LatencyRow> {
    let sample = figures.iter().copied().collect();
    let mut row = LatencyRow::of(&sample)?;
    dependence::add_intervals(&mut row, &sample, figures, |figure, take| take(figure.at_least(), 1));
    Some(row)
}

/// The row of what lies between the chunks of `answers`: the gaps of each, with the samples that one stands for.
fn of_answers<'c, G: Iterator<Item = (f64, u32)>>(
    sample: &Sample,
    answers: &[Received<'c>],
    gaps: impl Fn(Received<'c>) -> G,
) -> Option<LatencyRow> {
    let mut row = LatencyRow::of(sample)?;
    dependence::add_intervals(&mut row, sample, answers, |answer, take| {
        gaps(*answer).for_each(|(gap, weight)| take(gap, weight));
    });
    Some(row)
}

impl Serialize for LatencyTable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Metric::LATENCIES.map(|metric| (metric.name(), self.row(metric))))
    }
}
