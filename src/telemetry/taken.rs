//! Extracts from a page the metrics that the table of its kind names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::{MetricNames, MetricSample, ServerText, metric_samples};
use crate::record::{Counter, DeviceReading, Gauge, PageKind, Reading, TimeHistogram};

/// From here on, values mean that the exporter has none (`DCGM_INT64_BLANK` and its like).
const BLANK: f64 = 9.2e18;

/// Devices of a page that are stored, and buckets of a histogram: more than any server has.
const MOST: usize = 1_024;

/// The samples of a page by the names of their series.
type Series<'p> = HashMap<&'p str, Vec<MetricSample<'p>>>;

/// How much of a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Everything.
    Whole,
    /// Everything but the histograms, which are large.
    Brief,
}

/// The kind of a page, recognised by its series; `None` where none is known.
pub(super) fn kind_of(page: &str) -> Option<PageKind> {
    MetricNames::on(page).map(|names| names.kind)
}

/// The devices of a page, as `2 × NVIDIA H100 80GB HBM3`, and their driver's version.
pub(super) fn hardware_of(page: &str, names: &MetricNames) -> (Option<String>, Option<String>) {
    if names.device.is_empty() {
        return (None, None);
    }
    let (mut devices, mut models, mut drivers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for sample in metric_samples(page).filter(|sample| sample.name.starts_with(names.prefix)) {
        devices.extend(names.device.iter().find_map(|whole| sample.label(whole)).map(String::from));
        models.extend(sample.label(names.hardware).map(String::from));
        drivers.extend(sample.label(names.driver).map(String::from));
    }
    let joined = |words: BTreeSet<String>| {
        (!words.is_empty())
            .then(|| ServerText::Device.kept(&words.into_iter().collect::<Vec<_>>().join(", ")))
    };
    (joined(models).map(|models| format!("{} × {models}", devices.len())), joined(drivers))
}

/// The metrics of `page` under these names. Label sets, such as several engines, are summed; values that do
/// not add up are averaged. From which page they are, and when, the caller says.
pub(super) fn taken(page: &str, names: &MetricNames, depth: Depth) -> Reading {
    let mut series = Series::new();
    for sample in metric_samples(page).filter(|sample| sample.name.starts_with(names.prefix)) {
        if sample.value.is_finite()
            && sample.value < BLANK
            && let Some(sample) = selected(sample, names)
        {
            series.entry(sample.name).or_default().push(sample);
        }
    }
    let mut taken = Reading::default();
    if names.device.is_empty() {
        taken.gauges = gauges(names, &series);
        taken.counters = counters(names, &series);
    } else {
        let mut of_device: BTreeMap<String, Series<'_>> = BTreeMap::new();
        for sample in series.values().flatten() {
            if let Some(device) = device_of(sample, names)
                && (of_device.len() < MOST || of_device.contains_key(&device))
            {
                // Several users of one device get the same values: one is enough.
                let known = of_device.entry(device).or_default().entry(sample.name).or_default();
                let is_other_part = |other: &MetricSample<'_>| {
                    names.selecting.is_some_and(|of| other.label(of.part) != sample.label(of.part))
                };
                if known.iter().all(is_other_part) {
                    known.push(*sample);
                }
            }
        }
        for (device, series) in of_device {
            let (gauges, counters) = (gauges(names, &series), counters(names, &series));
            let gauges = gauges.into_iter().chain(throttling(names, &series)).collect();
            taken.devices.insert(device, DeviceReading { gauges, counters });
        }
    }
    if depth == Depth::Whole {
        for (time, known) in names.times {
            if let Some(histogram) = known.iter().find_map(|name| histogram(&series, name)) {
                taken.histograms.insert(*time, histogram);
            }
        }
    }
    taken
}

/// The sample by the name that the table has for it, where a label makes one series several; `None` where the table has none.
fn selected<'p>(mut sample: MetricSample<'p>, names: &MetricNames) -> Option<MetricSample<'p>> {
    let Some(kind) = names.selecting.and_then(|selecting| {
        let kind = sample.label(selecting.label)?.to_ascii_lowercase();
        Some(kind.strip_prefix(selecting.prefix).map_or(kind.clone(), str::to_owned))
    }) else {
        return Some(sample);
    };
    let mut known = names.gauges.iter().flat_map(|row| row.2);
    let is_it = |known: &&&'static str| known.split_once(' ') == Some((sample.name, &kind));
    sample.name = known.find(is_it)?;
    Some(sample)
}

/// For which shares of time the clocks of a device were lowered.
fn throttling(names: &MetricNames, series: &Series<'_>) -> BTreeMap<Gauge, f64> {
    let value = |name: &str| Some(series.get(name)?.first()?.value).filter(|value| *value >= 0.0);
    let mask = names.throttle_mask.iter().find_map(|name| value(name));
    let mut shares: BTreeMap<_, _> =
        mask.into_iter().flat_map(|mask| Gauge::throttling_of(mask as u64)).collect();
    for (gauge, scale, name) in names.throttle_shares {
        if let Some(share) = value(name).map(|value| (value * scale).min(1.0)) {
            let most = shares.entry(*gauge).or_insert(share);
            *most = most.max(share);
        }
    }
    shares
}

/// The device of a sample: its labels, joined; without the partition where the series is about the whole
/// device.
fn device_of(sample: &MetricSample<'_>, names: &MetricNames) -> Option<String> {
    let labels = if names.of_whole_devices.contains(&sample.name) { 1 } else { names.device.len() };
    let labels = names.device.iter().take(labels).filter_map(|label| sample.label(label));
    let name = labels.filter(|value| !value.is_empty()).collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then(|| ServerText::Device.kept(&name))
}

/// The samples of the first of these names on the page.
fn first<'s, 'p>(known: &[&str], series: &'s Series<'p>) -> Option<&'s [MetricSample<'p>]> {
    known.iter().find_map(|name| series.get(*name)).map(Vec::as_slice)
}

fn gauges(names: &MetricNames, series: &Series<'_>) -> BTreeMap<Gauge, f64> {
    let value = |(gauge, scale, known): &(Gauge, f64, &[&str])| {
        let metric_samples = first(known, series)?.iter().filter(|sample| !sample.is_of_one_priority());
        let all = gauge.together(metric_samples.map(|sample| sample.value))?;
        Some((*gauge, all * scale)).filter(|(_, value)| value.abs() <= Reading::LARGEST)
    };
    names.gauges.iter().filter_map(value).collect()
}

fn counters(names: &MetricNames, series: &Series<'_>) -> BTreeMap<Counter, f64> {
    let value = |(counter, scale, known): &(Counter, f64, &[&str])| {
        let well = first(known, series)?.iter().filter(|sample| !sample.is_of_failures());
        Some((*counter, well.map(|sample| sample.value).sum::<f64>() * scale))
    };
    names.counters.iter().filter_map(value).collect()
}

/// The histogram `name`, its label sets added up; `None` where the page has none.
fn histogram(series: &Series<'_>, name: &str) -> Option<TimeHistogram> {
    let total = |part: &str| {
        let metric_samples = series.get(format!("{name}_{part}").as_str())?;
        Some(metric_samples.iter().map(|sample| sample.value).sum::<f64>())
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
