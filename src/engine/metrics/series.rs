//! The figures of a metrics page, found by the one table of names.

use std::collections::{BTreeMap, HashMap};

use super::exposition::{MetricSample, metric_samples};
use crate::engine::dialect_traits::MetricNames;
use crate::record::{Counter, Gauge, Reading, TimeHistogram};

/// Lowest value that means that the exporter has none (`DCGM_INT64_BLANK` and its like).
const BLANK: f64 = 9.2e18;
/// Buckets of a histogram, or positions of a draft, that are stored.
const MOST: usize = 1_024;
/// Prefix that Ray puts before the names of its applications' metrics.
pub(in crate::engine) const RAY: &str = "ray_";
/// Signs between the name of an engine and that of a metric. Ray and collectors write `_` for `:`.
const SEPARATORS: [char; 2] = [':', '_'];
/// The end of a counter's name, which some releases leave out.
const TOTAL: &str = "_total";
/// The ends of the series of a histogram.
const OF_HISTOGRAM: [&str; 3] = ["_count", "_sum", "_bucket"];

/// The samples of a page by the own names of their series: `num_requests_running`.
pub(crate) type MetricSeries<'p> = HashMap<&'p str, Vec<MetricSample<'p>>>;

impl MetricNames {
    /// Returns the own name of a series, or `None` for one of another kind. `vllm:x`, `vllm_x` and `ray_vllm_x` are all
    /// `x`.
    pub(crate) fn own<'n>(&self, name: &'n str) -> Option<&'n str> {
        let engine = self.prefix.trim_end_matches(SEPARATORS);
        let rest = name.strip_prefix(RAY).unwrap_or(name).strip_prefix(engine)?;
        if engine == self.prefix { Some(rest) } else { rest.strip_prefix(SEPARATORS) }
    }

    /// Whether a series of this name is read of such a page.
    pub(crate) fn reads(&self, name: &str) -> bool {
        let Some(own) = self.own(name) else { return false };
        let is = |known: &&str, own: &str| self.own(known).is_some_and(|known| bare(known) == bare(own));
        let histogram = OF_HISTOGRAM.iter().find_map(|end| own.strip_suffix(end));
        self.gauges.iter().flat_map(|row| row.2).any(|known| is(known, own))
            || self.counters.iter().flat_map(|row| row.2).any(|known| is(known, own))
            || histogram.is_some_and(|own| self.times.iter().flat_map(|row| row.1).any(|known| is(known, own)))
    }

    /// A regular expression of the names of series of these kinds.
    pub(crate) fn pattern<'n>(kinds: impl IntoIterator<Item = &'n Self>) -> String {
        let names: Vec<_> = kinds.into_iter().map(|names| names.prefix.trim_end_matches(SEPARATORS)).collect();
        format!("({RAY})?({})[:_].+", names.join("|"))
    }

    /// The series of such a page, without values that are none.
    pub(crate) fn series<'p>(&self, page: &'p str) -> MetricSeries<'p> {
        self.series_of(metric_samples(page))
    }

    /// The series of these samples, which are of one moment.
    pub(crate) fn series_of<'p>(&self, samples: impl IntoIterator<Item = MetricSample<'p>>) -> MetricSeries<'p> {
        let mut series = MetricSeries::new();
        let known = samples.into_iter().filter(|sample| sample.value.is_finite() && sample.value < BLANK);
        for mut sample in known {
            let Some(name) = self.own(sample.name) else { continue };
            sample.name = name;
            if let Some(sample) = self.selected(sample) {
                series.entry(sample.name).or_default().push(sample);
            }
        }
        series
    }

    /// Returns the sample by the name that the table has for it. A label can make one series several. It is `None`
    /// where the table has no name.
    fn selected<'p>(&self, mut sample: MetricSample<'p>) -> Option<MetricSample<'p>> {
        let Some(kind) = self.selecting.and_then(|selecting| {
            let kind = sample.label(selecting.label)?.to_ascii_lowercase();
            Some(kind.strip_prefix(selecting.prefix).map_or(kind.clone(), str::to_owned))
        }) else {
            return Some(sample);
        };
        let mut known = self.gauges.iter().flat_map(|row| row.2).filter_map(|known| self.own(known));
        sample.name = known.find(|known| known.split_once(' ') == Some((sample.name, &kind)))?;
        Some(sample)
    }

    /// Returns the samples of the first of these names on the page. The name of a counter ends in `_total` or does not.
    fn first<'s, 'p>(&self, known: &[&str], series: &'s MetricSeries<'p>) -> Option<&'s [MetricSample<'p>]> {
        let samples = |own: &str| match series.get(own) {
            None if bare(own) == own => series.get(format!("{own}{TOTAL}").as_str()),
            None => series.get(bare(own)),
            found => found,
        };
        known.iter().find_map(|name| samples(self.own(name)?)).map(Vec::as_slice)
    }

    /// The gauges of a page; label sets, such as several engines, together.
    pub(crate) fn gauges_of(&self, series: &MetricSeries<'_>) -> BTreeMap<Gauge, f64> {
        let value = |(gauge, scale, known): &(Gauge, f64, &[&str])| {
            let of_all = self.first(known, series)?.iter().filter(|sample| !sample.is_of_one_priority());
            let all = gauge.together(of_all.map(|sample| sample.value))?;
            Some((*gauge, all * scale)).filter(|(_, value)| value.abs() <= Reading::LARGEST)
        };
        self.gauges.iter().filter_map(value).collect()
    }

    /// The counters of a page; label sets are summed, failed requests left out.
    pub(crate) fn counters_of(&self, series: &MetricSeries<'_>) -> BTreeMap<Counter, f64> {
        let value = |(counter, scale, known): &(Counter, f64, &[&str])| {
            let well = self.first(known, series)?.iter().filter(|sample| !sample.is_of_failures());
            Some((*counter, well.map(|sample| sample.value).sum::<f64>() * scale))
        };
        self.counters.iter().filter_map(value).collect()
    }

    /// Accepted draft tokens of a page by their position; label sets are summed.
    pub(crate) fn accepted_at(&self, series: &MetricSeries<'_>) -> Vec<f64> {
        let mut all = Vec::new();
        for sample in self.first(self.accepted_at, series).unwrap_or_default() {
            let position = sample.label("position").and_then(|position| position.parse::<usize>().ok());
            let Some(position) = position.filter(|position| *position < MOST) else { continue };
            all.resize(all.len().max(position + 1), 0.0);
            all[position] += sample.value;
        }
        all
    }

    /// The first of these histograms on the page, its label sets added up.
    pub(crate) fn histogram_of(&self, known: &[&str], series: &MetricSeries<'_>) -> Option<TimeHistogram> {
        known.iter().find_map(|name| histogram(series, self.own(name)?))
    }
}

/// A name without the end that some releases leave out.
pub(in crate::engine) fn bare(name: &str) -> &str {
    name.strip_suffix(TOTAL).unwrap_or(name)
}

fn histogram(series: &MetricSeries<'_>, name: &str) -> Option<TimeHistogram> {
    let total = |part: &str| {
        let samples = series.get(format!("{name}_{part}").as_str())?;
        Some(samples.iter().map(|sample| sample.value).sum::<f64>())
    };
    let (count, sum_s) = (total("count")?, total("sum")?);
    let mut buckets: Vec<(f64, f64)> = Vec::new();
    for sample in series.get(format!("{name}_bucket").as_str())? {
        let Some(end) = sample.label("le").and_then(|end| end.parse::<f64>().ok()) else { continue };
        if buckets.len() == MOST {
            break;
        }
        match buckets.iter_mut().find(|(known, _)| *known == end) {
            _ if !end.is_finite() => {}
            Some((_, count)) => *count += sample.value,
            None => buckets.push((end, sample.value)),
        }
    }
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(TimeHistogram { count, sum_s, buckets })
}
