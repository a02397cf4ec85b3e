//! NVIDIA's management library (NVML), loaded at run time: nothing of it is needed to build or to start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::{Device, Nvml};

use super::{DeviceLibrary, LocalDevice, reading};
use crate::record::Gauge;

/// Library of the process, one as its driver is. Whoever loads it first keeps it.
static LIBRARY: OnceLock<Nvml> = OnceLock::new();

/// Library with the last sample of each device's activity. The activity is measured between two samples.
pub(super) struct Nvidia {
    library: &'static Nvml,
    samples: Mutex<BTreeMap<u32, GpmSample<'static>>>,
}

impl fmt::Debug for Nvidia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nvidia")
    }
}

impl Nvidia {
    /// Loads the library.
    pub(super) fn load() -> Result<Self, String> {
        let library = if let Some(library) = LIBRARY.get() {
            library
        } else {
            let loaded = Nvml::init().map_err(|error| in_words(&error))?;
            LIBRARY.get_or_init(|| loaded)
        };
        Ok(Self { library, samples: Mutex::default() })
    }

    fn device(&self, number: u32, device: &Device<'static>) -> LocalDevice {
        let utilisation = device.utilization_rates().ok();
        let memory = device.memory_info().ok();
        let [dram, tensor, sm] = self.activity(number, device).map_or([None; 3], |parts| parts.map(Some));
        let values = [
            (Gauge::Utilisation, utilisation.as_ref().map(|rates| f64::from(rates.gpu))),
            (Gauge::MemoryBusy, utilisation.as_ref().map(|rates| f64::from(rates.memory))),
            (Gauge::MemoryUsedBytes, memory.as_ref().map(|memory| memory.used as f64)),
            (Gauge::MemoryFreeBytes, memory.as_ref().map(|memory| memory.free as f64)),
            (Gauge::PowerW, device.power_usage().ok().map(f64::from)),
            (Gauge::PowerLimitW, device.enforced_power_limit().ok().map(f64::from)),
            (Gauge::SmClockMhz, device.clock_info(Clock::SM).ok().map(f64::from)),
            (Gauge::MaxSmClockMhz, device.max_clock_info(Clock::SM).ok().map(f64::from)),
            (Gauge::MemoryClockMhz, device.clock_info(Clock::Memory).ok().map(f64::from)),
            (Gauge::TemperatureC, device.temperature(TemperatureSensor::Gpu).ok().map(f64::from)),
            (Gauge::DramActive, dram),
            (Gauge::TensorActive, tensor),
            (Gauge::SmActive, sm),
        ];
        let reasons = device.current_throttle_reasons().ok().map(|reasons| reasons.bits());
        let energy = device.total_energy_consumption().ok();
        let (name, uuid) = (device.name().ok(), device.uuid().ok());
        LocalDevice { number, name, uuid, reading: reading(values, reasons, energy) }
    }

    /// Returns percents of the cycles in which memory, tensor cores and multiprocessors worked. The cycles are those
    /// since the reading before.
    ///
    /// `None` at the first reading, and of devices before Hopper.
    fn activity(&self, number: u32, device: &Device<'static>) -> Option<[f64; 3]> {
        const METRICS: [GpmMetricId; 3] = [GpmMetricId::DramBwUtil, GpmMetricId::AnyTensorUtil, GpmMetricId::SmUtil];

        if !device.gpm_support().unwrap_or(false) {
            return None;
        }
        let now = device.gpm_sample().ok()?;
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let values = samples.get(&number).and_then(|before| {
            let metrics = gpm_metrics_get(self.library, before, &now, &METRICS).ok()?;
            let values = metrics.into_iter().map(|metric| metric.ok().map(|metric| metric.value));
            values.collect::<Option<Vec<f64>>>()
        });
        samples.insert(number, now);
        values?.try_into().ok()
    }
}

impl DeviceLibrary for Nvidia {
    fn driver(&self) -> Option<String> {
        self.library.sys_driver_version().ok()
    }

    fn devices(&self) -> Result<Vec<LocalDevice>, String> {
        let devices = self.library.device_count().map_err(|error| in_words(&error))?;
        let values = (0..devices).filter_map(|number| {
            let device = self.library.device_by_index(number).ok()?;
            Some(self.device(number, &device))
        });
        Ok(values.collect())
    }
}

fn in_words(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(_) => "NVIDIA's management library (libnvidia-ml) is not on this machine".to_owned(),
        other => format!("NVIDIA's management library says: {other}"),
    }
}
