//! What the devices did, and the energy that they used.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::track::{GaugeSummary, Span, Track};
use crate::analysis::load::rates::Rates;
use crate::record::{Counter, Gauge, Reading, TelemetrySource};

/// Fewest steps of a counter of energy that power is taken from. They cover [`COVERED`] of the window at least.
/// Exporters bring the counter up to date at their own, often much slower pace (dcgm-exporter: every 30 s,
/// `--collect-interval`).
const STEPS: usize = 3;
pub(super) const COVERED: f64 = 0.8;

/// A device over the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    /// Number or name of the device.
    pub device: String,
    /// Address of the page that reports it.
    pub page: String,
    /// The device that it is a part of (MIG). That device has the power of all its parts. Absent of whole devices.
    pub part_of: Option<String>,
    /// Share of time in which it was busy, 0 to 1.
    pub utilisation: Option<GaugeSummary>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<GaugeSummary>,
    /// Memory that is free, bytes.
    pub memory_free_bytes: Option<GaugeSummary>,
    /// Power, watts.
    pub power_w: Option<GaugeSummary>,
    /// Limit of the power, watts.
    pub power_limit_w: Option<GaugeSummary>,
    /// Share of cycles in which its memory was sending or receiving data, 0 to 1.
    pub dram_active: Option<GaugeSummary>,
    /// Share of time in which its memory was read or written, 0 to 1. Any access at all counts.
    pub memory_busy: Option<GaugeSummary>,
    /// Share of cycles in which its matrix units were active, 0 to 1.
    pub tensor_active: Option<GaugeSummary>,
    /// Share of cycles in which a multiprocessor had work, 0 to 1. It is averaged over all of them.
    pub sm_active: Option<GaugeSummary>,
    /// Clock of the multiprocessors, MHz.
    pub sm_clock_mhz: Option<GaugeSummary>,
    /// The highest that it can be, MHz.
    pub max_sm_clock_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Option<GaugeSummary>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<GaugeSummary>,
    /// Share of the window in which its clocks were lowered, 0 to 1. It is by the reason that the device reports. Empty
    /// where it reports none.
    pub throttled: BTreeMap<Gauge, f64>,
    /// Values that the device reported before the first request was sent. Absent where it was not read then.
    pub before: Option<IdleDevice>,
    /// Mean power by the counter of energy, watts. It is its rise from the first reading in which it had moved to the
    /// last ÷ the time between them. Absent where it moved fewer than three times, or where the two cover less than 80
    /// % of the window.
    pub power_by_energy_w: Option<f64>,
}

/// A device before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IdleDevice {
    /// Share of time in which it was busy, 0 to 1.
    pub utilisation: Option<f64>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<f64>,
}

impl DeviceSummary {
    /// Returns the mean of a value over those `devices` that report it. It has the smallest and the largest of any too.
    /// `None` where none reports it.
    pub fn together<'a>(
        devices: impl IntoIterator<Item = &'a Self>,
        gauge: fn(&Self) -> Option<GaugeSummary>,
    ) -> Option<GaugeSummary> {
        let report: Vec<_> = devices.into_iter().filter_map(gauge).collect();
        let GaugeSummary { last, covered_s, .. } = *report.last()?;
        let mean = report.iter().map(|gauge| gauge.mean).sum::<f64>() / report.len() as f64;
        let max = report.iter().map(|gauge| gauge.max).fold(f64::NEG_INFINITY, f64::max);
        let min = report.iter().map(|gauge| gauge.min).fold(f64::INFINITY, f64::min);
        Some(GaugeSummary { mean, min, max, last, covered_s })
    }

    /// Returns the largest share of the window in which its clocks were lowered. The cause is heat, the power supply or
    /// the hardware, and the reason comes with it. `None` where it reports no reasons.
    pub fn slowed_down(&self) -> Option<(Gauge, f64)> {
        let shares = Gauge::THROTTLING.iter().filter(|(gauge, _)| gauge.is_slowdown());
        let shares = shares.filter_map(|(gauge, _)| Some((*gauge, *self.throttled.get(gauge)?)));
        // The gravest of several that are as long.
        shares.reduce(|most, next| if next.1 > most.1 { next } else { most })
    }

    /// Whether it did anything in the window, as far as it reports that.
    pub fn was_busy(&self) -> bool {
        self.utilisation.is_none_or(|busy| busy.max >= BUSY)
    }
}

/// Largest share of the time for which a device is busy and still served nothing.
pub(crate) const BUSY: f64 = 0.05;

/// The devices of one page; requests were first sent at `sent_s`.
pub(super) fn of(
    page: &TelemetrySource,
    readings: &[&Reading],
    window: (f64, f64),
    sent_s: Option<f64>,
) -> Vec<DeviceSummary> {
    let before =
        readings.iter().rev().find(|reading| sent_s.is_some_and(|sent| reading.answered.as_secs_f64() <= sent));
    let names: BTreeSet<&String> = readings.iter().flat_map(|reading| reading.devices.keys()).collect();
    let span = Span::new(readings, window);
    let summary = |name: &String| {
        let gauge = |gauge: Gauge| {
            let values = readings
                .iter()
                .filter_map(|reading| Some((reading.moment_s(), *reading.devices.get(name)?.gauges.get(&gauge)?)));
            Track::from_points(values)?.over(window)
        };
        let idle = || {
            let device = before?.devices.get(name)?;
            let gauge = |gauge| device.gauges.get(&gauge).copied();
            let utilisation = gauge(Gauge::Utilisation);
            Some(IdleDevice { utilisation, memory_used_bytes: gauge(Gauge::MemoryUsedBytes) })
        };
        let throttled = Gauge::THROTTLING.iter().filter_map(|(reason, _)| Some((*reason, gauge(*reason)?.mean)));
        let whole = name.split_once(' ').map(|(whole, _)| whole.to_owned());
        DeviceSummary {
            device: name.clone(),
            page: page.url.clone(),
            part_of: whole.filter(|whole| names.contains(whole)),
            utilisation: gauge(Gauge::Utilisation),
            memory_used_bytes: gauge(Gauge::MemoryUsedBytes),
            memory_free_bytes: gauge(Gauge::MemoryFreeBytes),
            power_w: gauge(Gauge::PowerW),
            power_limit_w: gauge(Gauge::PowerLimitW),
            dram_active: gauge(Gauge::DramActive),
            memory_busy: gauge(Gauge::MemoryBusy),
            tensor_active: gauge(Gauge::TensorActive),
            sm_active: gauge(Gauge::SmActive),
            sm_clock_mhz: gauge(Gauge::SmClockMhz),
            max_sm_clock_mhz: gauge(Gauge::MaxSmClockMhz).map(|clock| clock.max),
            memory_clock_mhz: gauge(Gauge::MemoryClockMhz),
            temperature_c: gauge(Gauge::TemperatureC),
            throttled: throttled.collect(),
            before: idle(),
            power_by_energy_w: span.as_ref().and_then(|span| power_by_energy(span, name, window)),
        }
    };
    names.iter().copied().map(summary).collect()
}

/// Returns the mean power by a counter that moves in steps. Only where it has just moved is it known how far it is.
fn power_by_energy(span: &Span<'_>, name: &str, window: (f64, f64)) -> Option<f64> {
    let reported = span
        .between
        .iter()
        .filter_map(|reading| Some((reading.moment_s(), *reading.devices.get(name)?.counters.get(&Counter::EnergyJ)?)));
    let reported: Vec<_> = reported.collect();
    let moved: Vec<_> = reported.windows(2).filter(|pair| pair[1].1 != pair[0].1).map(|pair| pair[1]).collect();
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
    /// Joules for each answer token that arrived in the window. Absent where the client is one of several generators
    /// and saw only a share of them, or the deployment has another number of devices.
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
    /// The operator's word.
    Claimed,
}

impl EnergyUse {
    /// Whether it is of as many devices as the deployment has. It is so as far as that is said.
    pub fn is_of(&self, gpus: Option<u32>) -> bool {
        gpus.is_none_or(|gpus| u64::from(gpus) == self.devices)
    }

    /// Computes the energy of all `devices`, for the whole work, if that is known. `None` where not every device tells
    /// for most of the window: the energy of some, or of a part of the time, is not that of the work. Energy of another
    /// number of devices than the deployment's `gpus` is not that of an answer.
    pub(super) fn new(
        devices: &[DeviceSummary],
        gpus: Option<u32>,
        work: Option<&Rates>,
        window: (f64, f64),
    ) -> Option<Self> {
        let length = window.1 - window.0;
        // A part of a device has no power of its own.
        let whole = || devices.iter().filter(|device| device.part_of.is_none());
        let all = |power: &dyn Fn(&DeviceSummary) -> Option<f64>| {
            let powers = whole().map(power).collect::<Option<Vec<f64>>>()?;
            (!powers.is_empty()).then(|| powers.into_iter().sum::<f64>())
        };
        let by_counters = all(&|device| device.power_by_energy_w).map(|power| (power, EnergySource::Counters));
        let read = |device: &DeviceSummary| {
            device.power_w.filter(|power| power.covered_s >= COVERED * length).map(|power| power.mean)
        };
        let by_power = || Some((all(&read)?, EnergySource::Power));
        let (power_w, source) = by_counters.or_else(by_power)?;
        let devices = whole().count() as u64;
        let (window_j, per_output_token_j, per_request_j) = (power_w * length, None, None);
        let energy = Self { source, devices, power_w, window_j, per_output_token_j, per_request_j };
        let work = work.filter(|_| energy.is_of(gpus));
        let per = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0).map(|rate| power_w / rate);
        Some(Self {
            per_output_token_j: per(work.and_then(|rates| rates.output_tokens_per_s)),
            per_request_j: per(work.and_then(|rates| rates.completed_requests_per_s)),
            ..energy
        })
    }
}
