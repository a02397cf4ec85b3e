//! One latency over a run: its percentiles, with intervals that respect how requests depend on one another.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeStruct as _};

use crate::analysis::figures::key::Statistic;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::{AskedQuantile, Quantile, SampleWarning};
use crate::analysis::statistics::{SECTIONS, Sectioned, ranks, sectioned, von_neumann};

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
    /// Those that the user asked for, ascending; empty where none were asked for.
    pub asked: Vec<Percentile<AskedQuantile>>,
    /// Whether requests that follow one another are alike beyond chance, so that `interval` is too narrow; absent
    /// where there are too few to tell, and for tokens and chunks, which depend on one another anyway.
    pub dependent: Option<bool>,
}

/// A percentile with what makes it true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile<Q = Quantile> {
    /// Which one.
    pub quantile: Q,
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
                interval: sample.interval(quantile.fraction()),
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
            asked: Vec::new(),
            dependent: None,
        })
    }

    /// Adds percentiles that the user asked for, in percent.
    #[must_use]
    pub(crate) fn asked_for(mut self, sample: &Sample, percents: &[f64]) -> Self {
        let quantiles: BTreeSet<_> = percents.iter().copied().map(AskedQuantile::of_percent).collect();
        let of = |quantile: AskedQuantile| {
            let other = || {
                Some(Percentile {
                    quantile,
                    figure: sample.quantile(quantile.fraction())?,
                    interval: sample.interval(quantile.fraction()),
                    batch_interval: None,
                    sections_dependent: None,
                    mark: quantile.mark(self.n),
                })
            };
            quantile.usual().map_or_else(other, |usual| Some(self.percentile(usual).named(quantile)))
        };
        self.asked = quantiles.into_iter().filter_map(of).collect();
        self
    }

    /// One of those that the user asked for.
    pub fn asked(&self, quantile: AskedQuantile) -> Option<&Percentile<AskedQuantile>> {
        self.asked.iter().find(|asked| asked.quantile == quantile)
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
            Statistic::Asked(quantile) => Some(self.asked(quantile)?.figure),
        }
    }

    /// How far the tail lies from the middle: p99 / p50, when both are known and p50 is not zero.
    pub fn p99_over_p50(&self) -> Option<f64> {
        let exact = |quantile| self.percentile(quantile).figure.exact();
        let middle = exact(Quantile::P50).filter(|&middle| middle > 0.0)?;
        Some(exact(Quantile::P99)? / middle)
    }
}

impl<Q: Copy> Percentile<Q> {
    /// The same under another name.
    #[must_use]
    pub(crate) fn named<R>(self, quantile: R) -> Percentile<R> {
        let Self { quantile: _, figure, interval, batch_interval, sections_dependent, mark } = self;
        Percentile { quantile, figure, interval, batch_interval, sections_dependent, mark }
    }

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
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("n", &self.n)?;
        row.serialize_entry("censored", &self.censored)?;
        row.serialize_entry("mean_ms", &self.mean_ms)?;
        row.serialize_entry("std_ms", &self.std_ms)?;
        row.serialize_entry("min_ms", &self.min.exact())?;
        let (at_least, at_most) = bounds(self.min);
        row.serialize_entry("min_at_least_ms", &at_least)?;
        row.serialize_entry("min_at_most_ms", &at_most)?;
        let key = |name: String| name.replace('.', "_");
        for percentile in &self.percentiles {
            row.serialize_entry(&key(percentile.quantile.to_string()), percentile)?;
        }
        for asked in self.asked.iter().filter(|asked| asked.quantile.usual().is_none()) {
            row.serialize_entry(&key(asked.quantile.to_string()), asked)?;
        }
        row.serialize_entry("max_ms", &self.max.exact())?;
        let (at_least, at_most) = bounds(self.max);
        row.serialize_entry("max_at_least_ms", &at_least)?;
        row.serialize_entry("max_at_most_ms", &at_most)?;
        row.serialize_entry("p99_over_p50", &self.p99_over_p50())?;
        row.serialize_entry("dependent", &self.dependent)?;
        row.end()
    }
}

impl<Q> Serialize for Percentile<Q> {
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

/// Requests in a section.
const LEAST_IN_SECTION: usize = 5;
/// Samples on the thinner side of a percentile: fewer are counted too coarsely by section.
const LEAST_BEYOND: f64 = 10.0;
/// Φ⁻¹(0.99): the requests of one run in a hundred look dependent by chance.
const DEPENDENT_Z: f64 = 2.326_347_874_040_841;

/// Gives every percentile of `row` the interval that comes from sections of `requests`, which stand in order of
/// arrival; `samples_of` hands out each request's samples and the number that each stands for.
///
/// The share of samples at or below the percentile is a mean, so the method of batch means holds for it: with `p_i` that
/// share in section i of b = 20, `p ± t·√(Σ(p_i − p̂)²/(b(b − 1)))` are the ranks between which the percentile lies, and
/// the samples of those ranks are the interval (Woodruff, *JASA* 47, 1952, 635–646; for dependent sequences Heidelberger
/// and Lewis, *Operations Research* 32, 1984, 185–209). Unlike percentiles of short sections it is not biased. Absent
/// for fewer than 100 requests, or fewer than ten samples beyond the percentile. Where even the sections depend on one
/// another, by von Neumann's ratio of the `p_i` one-sided at 5 % (Fishman and Yarberry, *INFORMS Journal on Computing* 9,
/// 1997, 296–310), the interval is said to be too narrow.
pub(crate) fn add_intervals<R>(
    row: &mut LatencyRow,
    sample: &Sample,
    requests: &[R],
    samples_of: impl Fn(&R, &mut dyn FnMut(f64, u32)),
) {
    let size = requests.len() / SECTIONS;
    if size < LEAST_IN_SECTION {
        return;
    }
    let bounds = row.percentiles.map(|percentile| percentile.figure.at_least());
    let (_, whole) = requests.split_at(requests.len() - size * SECTIONS);
    let sections: Vec<Section> =
        whole.chunks_exact(size).map(|section| Section::of(section, bounds, &samples_of)).collect();
    for (i, percentile) in row.percentiles.iter_mut().enumerate() {
        let p = percentile.quantile.fraction();
        if (row.n as f64) * p.min(1.0 - p) < LEAST_BEYOND - 1e-9 {
            continue;
        }
        let Some(Sectioned { estimate, sections_dependent }) = share(&sections, i) else { continue };
        let half_width = estimate.half_width();
        let at = |share: f64| (0.0..=1.0).contains(&share).then(|| sample.quantile(share)).flatten();
        let low = at(p - half_width).map(Figure::at_least);
        percentile.batch_interval = Some((low, at(p + half_width).and_then(Figure::at_most)));
        percentile.sections_dependent = Some(sections_dependent);
    }
}

/// Samples of a section: how many there are, and how many of them are at or below each percentile.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    samples: u64,
    at_most: [u64; Quantile::ALL.len()],
}

impl Section {
    fn of<R>(
        requests: &[R],
        bounds: [f64; Quantile::ALL.len()],
        samples_of: &impl Fn(&R, &mut dyn FnMut(f64, u32)),
    ) -> Self {
        let mut section = Self::default();
        for request in requests {
            samples_of(request, &mut |value, weight| {
                section.samples += u64::from(weight);
                for (count, bound) in section.at_most.iter_mut().zip(bounds) {
                    *count += if value <= bound { u64::from(weight) } else { 0 };
                }
            });
        }
        section
    }
}

/// The share of samples at or below the `i`-th percentile, and how sure it is by those of the sections.
fn share(sections: &[Section], i: usize) -> Option<Sectioned> {
    let (below, all) = sections
        .iter()
        .fold((0, 0), |(below, all), section| (below + section.at_most[i], all + section.samples));
    let share = |below: u64, all: u64| (all > 0).then(|| below as f64 / all as f64);
    let shares = sections.iter().map(|section| share(section.at_most[i], section.samples));
    sectioned(share(below, all)?, &shares.collect::<Option<Vec<_>>>()?)
}

/// Whether neighbours are alike beyond chance: von Neumann's ratio of the ranks (Bartels, *JASA* 77, 1982), one-sided
/// at 1 %. `None` for fewer than 20 requests, or where all are alike.
pub(crate) fn are_dependent(figures: &[Figure]) -> Option<bool> {
    if figures.len() < SECTIONS {
        return None;
    }
    let values: Vec<f64> = figures.iter().map(|figure| figure.at_least()).collect();
    Some(von_neumann(&ranks(&values))? > DEPENDENT_Z)
}

#[cfg(test)]
mod tests;
