//! What the work took in energy.

use serde::Serialize;

use super::devices::{COVERED, DeviceSummary};
use crate::analysis::load::rates::Rates;

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
    /// Joules for each answer token that came in the window; absent where the client is one of several generators and saw
    /// only a share of them.
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
