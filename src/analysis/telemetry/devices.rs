//! What each device told of itself over the window.

use std::collections::BTreeSet;

use serde::Serialize;

use super::span::{Span, moment};
use super::{GaugeSummary, Track};
use crate::record::{Counter, Gauge, Reading};

/// A device over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    /// Its number or name.
    pub device: String,
    /// Share of time in which it was busy, 0 to 1.
    pub utilisation: Option<GaugeSummary>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<GaugeSummary>,
    /// Memory that is free, bytes.
    pub memory_free_bytes: Option<GaugeSummary>,
    /// Power, watts.
    pub power_w: Option<GaugeSummary>,
    /// Mean power by the counter of energy, watts: its rise between the readings next to the ends of the window ÷ the time
    /// between them.
    pub power_by_energy_w: Option<f64>,
}

/// The devices of one page.
pub(super) fn of(readings: &[&Reading], window: (f64, f64)) -> Vec<DeviceSummary> {
    let names: BTreeSet<&String> = readings.iter().flat_map(|reading| reading.devices.keys()).collect();
    let span = Span::of(readings, window);
    let summary = |name: &String| {
        let gauge = |gauge: Gauge| {
            let values = readings.iter().filter_map(|reading| {
                Some((moment(reading), *reading.devices.get(name)?.gauges.get(&gauge)?))
            });
            Track::of(values)?.over(window)
        };
        let energy = |reading: &Reading| reading.devices.get(name)?.counters.get(&Counter::EnergyJ).copied();
        let power = |span: &Span<'_>| {
            let joules = energy(span.last)? - energy(span.first)?;
            // A counter that went back was started anew with its driver.
            (joules >= 0.0).then(|| joules / (moment(span.last) - moment(span.first)))
        };
        DeviceSummary {
            device: name.clone(),
            utilisation: gauge(Gauge::Utilisation),
            memory_used_bytes: gauge(Gauge::MemoryUsedBytes),
            memory_free_bytes: gauge(Gauge::MemoryFreeBytes),
            power_w: gauge(Gauge::PowerW),
            power_by_energy_w: span.as_ref().and_then(power),
        }
    };
    names.into_iter().map(summary).collect()
}
