//! The accelerators of this machine, read through the management library of their driver.

mod nvml;

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::ServerText;
use crate::record::{Counter, DeviceReading, Gauge, PageKind, Reading, TelemetrySource};

/// The name of this source, in place of an address.
pub(crate) const NVML: &str = "nvml";

/// Less memory in use than this holds no model: such a device serves nothing.
const MODEL_BYTES: f64 = 1_073_741_824.0;

/// Device as a management library reports it. What it or its driver does not say is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LocalDevice {
    /// Its number on this machine.
    pub(super) number: u32,
    pub(super) name: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) reading: DeviceReading,
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
    fn devices(&self) -> Result<Vec<LocalDevice>, String>;
}

/// Devices of this machine that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalChoice {
    /// All.
    All,
    /// Devices that hold a model.
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
    /// Devices of NVIDIA's library.
    ///
    /// # Errors
    ///
    /// When the library or a device is missing, or none is chosen.
    pub(crate) fn nvidia(choice: LocalChoice) -> Result<Self, String> {
        Self::new(Arc::new(nvml::Nvidia::load()?), choice)
    }

    /// Devices of any library.
    pub(super) fn new(library: Arc<dyn DeviceLibrary>, choice: LocalChoice) -> Result<Self, String> {
        let serves = |device: &LocalDevice| {
            let used = device.reading.gauges.get(&Gauge::MemoryUsedBytes);
            choice == LocalChoice::All || used.is_some_and(|used| *used >= MODEL_BYTES)
        };
        let devices: Vec<_> = library.devices()?.into_iter().filter(serves).collect();
        if devices.is_empty() {
            return Err("the driver reports no GPU".to_owned());
        }
        let mut names: Vec<&str> = devices.iter().filter_map(|device| device.name.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let hardware =
            (!names.is_empty()).then(|| ServerText::Device.kept(&format!("{} × {}", devices.len(), names.join(", "))));
        let driver = library.driver().map(|driver| ServerText::Device.kept(&driver));
        Ok(Self {
            numbers: devices.iter().map(|device| device.number).collect(),
            uuids: devices.iter().filter_map(|device| device.uuid.clone()).collect(),
            source: TelemetrySource { url: NVML.to_owned(), kind: Some(PageKind::Nvml), hardware, driver },
            library,
        })
    }

    /// Reads what they report now.
    pub(super) fn read(&self) -> Result<Reading, String> {
        let all = self.library.devices()?.into_iter();
        let ours = all.filter(|device| self.numbers.contains(&device.number));
        let devices = ours.map(|device| (device.number.to_string(), device.reading)).collect();
        Ok(Reading { devices, ..Reading::default() })
    }
}

/// Values of a device that are in NVML's units, in ours.
///
/// Percents become shares, milliwatts watts, millijoules joules, and a mask a share for each of its reasons.
fn reading(
    values: impl IntoIterator<Item = (Gauge, Option<f64>)>,
    throttle_mask: Option<u64>,
    energy_mj: Option<u64>,
) -> DeviceReading {
    let in_ours = |(gauge, value): (Gauge, Option<f64>)| {
        let unit = match gauge {
            Gauge::PowerW | Gauge::PowerLimitW => 1e3,
            Gauge::Utilisation | Gauge::MemoryBusy | Gauge::DramActive | Gauge::TensorActive | Gauge::SmActive => 100.0,
            _ => 1.0,
        };
        Some((gauge, value? / unit))
    };
    let throttling = throttle_mask.into_iter().flat_map(Gauge::throttling_of);
    let energy = energy_mj.map(|energy| (Counter::EnergyJ, energy as f64 / 1e3));
    DeviceReading {
        gauges: values.into_iter().filter_map(in_ours).chain(throttling).collect(),
        counters: energy.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
