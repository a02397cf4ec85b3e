//! The accelerators of this machine, read through the management library of their driver.

mod nvml;

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::ServerText;
use crate::record::{Counter, DeviceReading, Gauge, PageKind, Reading, TelemetrySource};

/// The name of this source, in place of an address.
pub(crate) const NVML: &str = "nvml";

/// Less memory in use than this holds no model: such a device serves nothing.
const MODEL_BYTES: u64 = 1 << 30;

/// What a management library says of one device; absent where the device or its driver does not say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceValues {
    /// Its number on this machine.
    pub(super) number: u32,
    pub(super) name: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) utilisation_percent: Option<u32>,
    pub(super) memory_busy_percent: Option<u32>,
    pub(super) memory_used_bytes: Option<u64>,
    pub(super) memory_free_bytes: Option<u64>,
    pub(super) power_mw: Option<u32>,
    pub(super) power_limit_mw: Option<u32>,
    /// Since the driver was loaded.
    pub(super) energy_mj: Option<u64>,
    pub(super) sm_clock_mhz: Option<u32>,
    pub(super) max_sm_clock_mhz: Option<u32>,
    pub(super) memory_clock_mhz: Option<u32>,
    pub(super) temperature_c: Option<u32>,
    /// Reasons for lowered clocks, a bit each.
    pub(super) throttle_mask: Option<u64>,
    /// Percent of the cycles since the reading before; Hopper and later.
    pub(super) activity: Option<Activity>,
}

/// Percent of cycles in which parts of a device were active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Activity {
    pub(super) dram: f64,
    pub(super) tensor: f64,
    pub(super) sm: f64,
}

/// A management library, or what a test puts in its place.
pub(super) trait DeviceLibrary: Debug + Send + Sync {
    /// Version of the driver.
    fn driver(&self) -> Option<String>;
    /// All devices as they are now.
    ///
    /// # Errors
    ///
    /// Why none can be read.
    fn devices(&self) -> Result<Vec<DeviceValues>, String>;
}

/// Which devices of this machine are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalChoice {
    /// All.
    All,
    /// Those that hold a model.
    Serving,
}

/// The devices of this machine that are read during a run.
#[derive(Clone, Debug)]
pub(crate) struct LocalDevices {
    library: Arc<dyn DeviceLibrary>,
    numbers: Vec<u32>,
    pub(super) uuids: Vec<String>,
    pub(super) source: TelemetrySource,
}

impl LocalDevices {
    /// Those of NVIDIA's library.
    ///
    /// # Errors
    ///
    /// When the library or a device is missing, or none is chosen.
    pub(crate) fn nvidia(choice: LocalChoice) -> Result<Self, String> {
        Self::new(Arc::new(nvml::Nvidia::load()?), choice)
    }

    /// Those of any library.
    pub(super) fn new(library: Arc<dyn DeviceLibrary>, choice: LocalChoice) -> Result<Self, String> {
        let serves = |device: &DeviceValues| {
            choice == LocalChoice::All || device.memory_used_bytes.is_some_and(|used| used >= MODEL_BYTES)
        };
        let devices: Vec<_> = library.devices()?.into_iter().filter(serves).collect();
        if devices.is_empty() {
            return Err("the driver reports no GPU".to_owned());
        }
        let mut names: Vec<&str> = devices.iter().filter_map(|device| device.name.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let hardware = (!names.is_empty())
            .then(|| ServerText::Device.kept(&format!("{} × {}", devices.len(), names.join(", "))));
        let driver = library.driver().map(|driver| ServerText::Device.kept(&driver));
        Ok(Self {
            numbers: devices.iter().map(|device| device.number).collect(),
            uuids: devices.iter().filter_map(|device| device.uuid.clone()).collect(),
            source: TelemetrySource { url: NVML.to_owned(), kind: Some(PageKind::Nvml), hardware, driver },
            library,
        })
    }

    /// What they report now.
    pub(super) fn read(&self) -> Result<Reading, String> {
        let all = self.library.devices()?;
        let ours = all.iter().filter(|device| self.numbers.contains(&device.number));
        let devices = ours.map(|device| (device.number.to_string(), device.reading())).collect();
        Ok(Reading { devices, ..Reading::default() })
    }
}

impl DeviceValues {
    /// The same in our units.
    fn reading(&self) -> DeviceReading {
        let percent = |value: Option<u32>| value.map(|value| f64::from(value) / 100.0);
        let plain = |value: Option<u32>| value.map(f64::from);
        let bytes = |value: Option<u64>| value.map(|value| value as f64);
        let active = |part: fn(Activity) -> f64| self.activity.map(|activity| part(activity) / 100.0);
        let gauges = [
            (Gauge::Utilisation, percent(self.utilisation_percent)),
            (Gauge::MemoryBusy, percent(self.memory_busy_percent)),
            (Gauge::MemoryUsedBytes, bytes(self.memory_used_bytes)),
            (Gauge::MemoryFreeBytes, bytes(self.memory_free_bytes)),
            (Gauge::PowerW, self.power_mw.map(|power| f64::from(power) / 1e3)),
            (Gauge::PowerLimitW, self.power_limit_mw.map(|limit| f64::from(limit) / 1e3)),
            (Gauge::SmClockMhz, plain(self.sm_clock_mhz)),
            (Gauge::MaxSmClockMhz, plain(self.max_sm_clock_mhz)),
            (Gauge::MemoryClockMhz, plain(self.memory_clock_mhz)),
            (Gauge::TemperatureC, plain(self.temperature_c)),
            (Gauge::DramActive, active(|activity| activity.dram)),
            (Gauge::TensorActive, active(|activity| activity.tensor)),
            (Gauge::SmActive, active(|activity| activity.sm)),
        ];
        let throttling = self.throttle_mask.into_iter().flat_map(Gauge::throttling_of);
        let gauges = gauges.into_iter().filter_map(|(gauge, value)| Some((gauge, value?))).chain(throttling);
        let energy = self.energy_mj.map(|energy| (Counter::EnergyJ, energy as f64 / 1e3));
        DeviceReading { gauges: gauges.collect(), counters: energy.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
