//! What the work took in energy.

use serde::Serialize;

use super::DeviceSummary;
use crate::analysis::Rates;

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
    /// Joules for each answer token that came in the window.
    pub per_output_token_j: Option<f64>,
    /// Joules for each request that was completed in it.
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
    /// `None` where not every device tells: the energy of some is not that of the work.
    pub(super) fn of(devices: &[DeviceSummary], rates: &Rates, window: (f64, f64)) -> Option<Self> {
        let all = |power: fn(&DeviceSummary) -> Option<f64>| {
            let powers = devices.iter().map(power).collect::<Option<Vec<f64>>>()?;
            (!powers.is_empty()).then(|| powers.into_iter().sum::<f64>())
        };
        let by_counters = all(|device| device.power_by_energy_w).map(|power| (power, EnergySource::Counters));
        let by_power = || Some((all(|device| Some(device.power_w?.mean))?, EnergySource::Power));
        let (power_w, source) = by_counters.or_else(by_power)?;
        let per = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0).map(|rate| power_w / rate);
        Some(Self {
            source,
            devices: devices.len() as u64,
            power_w,
            window_j: power_w * (window.1 - window.0),
            per_output_token_j: per(rates.output_tokens_per_s),
            per_request_j: per(rates.completed_requests_per_s),
        })
    }
}
