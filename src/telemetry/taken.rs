//! Extracts from a page the metrics that the table of its kind names.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{MetricNames, MetricSample, MetricSeries, ServerText, metric_samples};
use crate::record::{DeviceReading, Gauge, PageKind, Reading};

/// Devices of a page that are stored: more than any server has.
const MOST: usize = 1_024;

/// Part of a page that is read.
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

/// Returns the devices of a page and their driver's version. The devices are as `2 × NVIDIA H100 80GB HBM3`.
pub(super) fn hardware_of(page: &str, names: &MetricNames) -> (Option<String>, Option<String>) {
    if names.device.is_empty() {
        return (None, None);
    }
    let (mut devices, mut models, mut drivers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for sample in metric_samples(page).filter(|sample| names.own(sample.name).is_some()) {
        devices.extend(names.device.iter().find_map(|whole| sample.label(whole)).map(String::from));
        models.extend(sample.label(names.hardware).map(String::from));
        drivers.extend(sample.label(names.driver).map(String::from));
    }
    let joined = |words: BTreeSet<String>| {
        (!words.is_empty()).then(|| ServerText::Device.kept(&words.into_iter().collect::<Vec<_>>().join(", ")))
    };
    (joined(models).map(|models| format!("{} × {models}", devices.len())), joined(drivers))
}

/// The metrics of `page` under these names.
pub(super) fn taken(page: &str, names: &MetricNames, depth: Depth) -> Reading {
    taken_of(metric_samples(page), names, depth)
}

/// The metrics of the samples of one moment of a page. Label sets, such as several engines, are summed; values that
/// do not add up are averaged. From which page they are, and when, the caller says.
pub(super) fn taken_of<'p>(
    samples: impl IntoIterator<Item = MetricSample<'p>>,
    names: &MetricNames,
    depth: Depth,
) -> Reading {
    let series = names.series_of(samples);
    let mut taken = Reading::default();
    if names.device.is_empty() {
        taken.gauges = names.gauges_of(&series);
        taken.counters = names.counters_of(&series);
        taken.accepted_at = names.accepted_at(&series);
    } else {
        let mut of_device: BTreeMap<String, MetricSeries<'_>> = BTreeMap::new();
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
            let (gauges, counters) = (names.gauges_of(&series), names.counters_of(&series));
            let gauges = gauges.into_iter().chain(throttling(names, &series)).collect();
            taken.devices.insert(device, DeviceReading { gauges, counters });
        }
    }
    if depth == Depth::Whole {
        for (time, known) in names.times {
            if let Some(histogram) = names.histogram_of(known, &series) {
                taken.histograms.insert(*time, histogram);
            }
        }
    }
    taken
}

/// Returns the shares of time for which the clocks of a device were lowered.
fn throttling(names: &MetricNames, series: &MetricSeries<'_>) -> BTreeMap<Gauge, f64> {
    let value = |name: &str| Some(series.get(names.own(name)?)?.first()?.value).filter(|value| *value >= 0.0);
    let mask = names.throttle_mask.iter().find_map(|name| value(name));
    let mut shares: BTreeMap<_, _> = mask.into_iter().flat_map(|mask| Gauge::throttling_of(mask as u64)).collect();
    for (gauge, scale, name) in names.throttle_shares {
        if let Some(share) = value(name).map(|value| (value * scale).min(1.0)) {
            let most = shares.entry(*gauge).or_insert(share);
            *most = most.max(share);
        }
    }
    shares
}

/// Returns the device of a sample, by its labels, joined. They are without the partition where the series is about the
/// whole device.
fn device_of(sample: &MetricSample<'_>, names: &MetricNames) -> Option<String> {
    let is_whole = names.of_whole_devices.iter().any(|name| names.own(name) == Some(sample.name));
    let labels = if is_whole { 1 } else { names.device.len() };
    let labels = names.device.iter().take(labels).filter_map(|label| sample.label(label));
    let name = labels.filter(|value| !value.is_empty()).collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then(|| ServerText::Device.kept(&name))
}
