//! What each device reported over the window.

use std::collections::BTreeSet;

use serde::Serialize;

use super::span::Span;
use super::track::{GaugeSummary, Track};
use crate::record::{Counter, Gauge, Reading, TelemetrySource};

/// Fewest steps of a counter of energy that power is taken from, and the share of the window that they cover at least:
/// exporters bring it up to date at their own, often much slower pace (dcgm-exporter: every 30 s, `--collect-interval`).
const STEPS: usize = 3;
pub(super) const COVERED: f64 = 0.8;

/// A device over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    /// Its number or name.
    pub device: String,
    /// Address of the page that tells of it.
    pub page: String,
    /// The device that it is a part of (MIG), which has the power of all its parts; absent of whole devices.
    pub part_of: Option<String>,
    /// Share of time in which it was busy, 0 to 1.
    pub utilisation: Option<GaugeSummary>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<GaugeSummary>,
    /// Memory that is free, bytes.
    pub memory_free_bytes: Option<GaugeSummary>,
    /// Power, watts.
    pub power_w: Option<GaugeSummary>,
    /// Mean power by the counter of energy, watts: its rise from the first reading in which it had moved to the last ÷ the
    /// time between them. Absent where it moved fewer than three times, or where the two cover less than 80 % of the window.
    pub power_by_energy_w: Option<f64>,
}

/// The devices of one page.
pub(super) fn of(page: &TelemetrySource, readings: &[&Reading], window: (f64, f64)) -> Vec<DeviceSummary> {
    let names: BTreeSet<&String> = readings.iter().flat_map(|reading| reading.devices.keys()).collect();
    let span = Span::of(readings, window);
    let summary = |name: &String| {
        let gauge = |gauge: Gauge| {
            let values = readings.iter().filter_map(|reading| {
                Some((reading.moment_s(), *reading.devices.get(name)?.gauges.get(&gauge)?))
            });
            Track::of(values)?.over(window)
        };
        let whole = name.split_once(' ').map(|(whole, _)| whole.to_owned());
        DeviceSummary {
            device: name.clone(),
            page: page.url.clone(),
            part_of: whole.filter(|whole| names.contains(whole)),
            utilisation: gauge(Gauge::Utilisation),
            memory_used_bytes: gauge(Gauge::MemoryUsedBytes),
            memory_free_bytes: gauge(Gauge::MemoryFreeBytes),
            power_w: gauge(Gauge::PowerW),
            power_by_energy_w: span.as_ref().and_then(|span| power_by_energy(span, name, window)),
        }
    };
    names.iter().copied().map(summary).collect()
}

/// Mean power by a counter that moves in steps: only where it has just moved is it known how far it is.
fn power_by_energy(span: &Span<'_>, name: &str, window: (f64, f64)) -> Option<f64> {
    let reported = span.between.iter().filter_map(|reading| {
        Some((reading.moment_s(), *reading.devices.get(name)?.counters.get(&Counter::EnergyJ)?))
    });
    let reported: Vec<_> = reported.collect();
    let moved: Vec<_> =
        reported.windows(2).filter(|pair| pair[1].1 != pair[0].1).map(|pair| pair[1]).collect();
    // A counter that went back was started anew with its driver.
    let grew = reported.windows(2).all(|pair| pair[1].1 >= pair[0].1);
    let (first, last) = (moved.first()?, moved.last()?);
    let covers = last.0 - first.0 >= COVERED * (window.1 - window.0);
    (grew && covers && moved.len() >= STEPS).then(|| (last.1 - first.1) / (last.0 - first.0))
}
