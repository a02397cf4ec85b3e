//! What the devices did, and the energy that they used.

use std::collections::BTreeSet;

use serde::Serialize;

use super::track::{GaugeSummary, Span, Track};
use crate::analysis::load::rates::Rates;
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
    /// Address of the page that reports it.
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

/// Energy that all devices together used over the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EnergyUse {
    /// Where it comes from.
    pub source: EnergySource,
    /// Devices in it.
    pub devices: u64,
    /// Mean power, watts.
    pub power_w: f64,
    /// Energy of the window, joules: power × its length.
    pub window_j: f64,
    /// Joules for each answer token that arrived in the window; absent where the client is one of several generators
    /// and saw only a share of them.
    pub per_output_token_j: Option<f64>,
    /// Joules for each request that was completed in it; absent as above.
    pub per_request_j: Option<f64>,
}

/// Where a figure of energy comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnergySource {
    /// The devices' own counters of energy.
    Counters,
    /// Power that was read now and then, with straight lines in between (the trapezoid rule).
    Power,
}

impl EnergyUse {
    /// Of all `devices`, for the whole work, if that is known. `None` where not every device tells for most of the window: the
    /// energy of some, or of a part of the time, is not that of the work.
    pub(super) fn of(devices: &[DeviceSummary], work: Option<&Rates>, window: (f64, f64)) -> Option<Self> {
        let length = window.1 - window.0;
        // A part of a device has no power of its own.
        let whole = || devices.iter().filter(|device| device.part_of.is_none());
        let all = |power: &dyn Fn(&DeviceSummary) -> Option<f64>| {
            let powers = whole().map(power).collect::<Option<Vec<f64>>>()?;
            (!powers.is_empty()).then(|| powers.into_iter().sum::<f64>())
        };
        let by_counters =
            all(&|device| device.power_by_energy_w).map(|power| (power, EnergySource::Counters));
        let read = |device: &DeviceSummary| {
            device.power_w.filter(|power| power.covered_s >= COVERED * length).map(|power| power.mean)
        };
        let by_power = || Some((all(&read)?, EnergySource::Power));
        let (power_w, source) = by_counters.or_else(by_power)?;
        let per = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0).map(|rate| power_w / rate);
        Some(Self {
            source,
            devices: whole().count() as u64,
            power_w,
            window_j: power_w * length,
            per_output_token_j: per(work.and_then(|rates| rates.output_tokens_per_s)),
            per_request_j: per(work.and_then(|rates| rates.completed_requests_per_s)),
        })
    }
}
