//! NVIDIA's management library (NVML), loaded at run time: nothing of it is needed to build or to start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::{Device, Nvml};

use super::{Activity, DeviceLibrary, DeviceValues};

/// The library is one for the process, as its driver is: whoever loads it first keeps it.
static LIBRARY: OnceLock<Nvml> = OnceLock::new();

/// The library with the last sample of each device's activity, which is measured between two of them.
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

    fn values(&self, number: u32, device: &Device<'static>) -> DeviceValues {
        let utilisation = device.utilization_rates().ok();
        let memory = device.memory_info().ok();
        DeviceValues {
            number,
            name: device.name().ok(),
            uuid: device.uuid().ok(),
            utilisation_percent: utilisation.as_ref().map(|rates| rates.gpu),
            memory_busy_percent: utilisation.as_ref().map(|rates| rates.memory),
            memory_used_bytes: memory.as_ref().map(|memory| memory.used),
            memory_free_bytes: memory.as_ref().map(|memory| memory.free),
            power_mw: device.power_usage().ok(),
            power_limit_mw: device.enforced_power_limit().ok(),
            energy_mj: device.total_energy_consumption().ok(),
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
            max_sm_clock_mhz: device.max_clock_info(Clock::SM).ok(),
            memory_clock_mhz: device.clock_info(Clock::Memory).ok(),
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
            throttle_mask: device.current_throttle_reasons().ok().map(|reasons| reasons.bits()),
            activity: self.activity(number, device),
        }
    }

    /// Since the reading before; `None` at the first, and of devices before Hopper.
    fn activity(&self, number: u32, device: &Device<'static>) -> Option<Activity> {
        const METRICS: [GpmMetricId; 3] =
            [GpmMetricId::DramBwUtil, GpmMetricId::AnyTensorUtil, GpmMetricId::SmUtil];

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
        match values?.as_slice() {
            &[dram, tensor, sm] => Some(Activity { dram, tensor, sm }),
            _ => None,
        }
    }
}

impl DeviceLibrary for Nvidia {
    fn driver(&self) -> Option<String> {
        self.library.sys_driver_version().ok()
    }

    fn devices(&self) -> Result<Vec<DeviceValues>, String> {
        let devices = self.library.device_count().map_err(|error| in_words(&error))?;
        let values = (0..devices).filter_map(|number| {
            let device = self.library.device_by_index(number).ok()?;
            Some(self.values(number, &device))
        });
        Ok(values.collect())
    }
}

fn in_words(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(_) => {
            "NVIDIA's management library (libnvidia-ml) is not on this machine".to_owned()
        }
        other => format!("NVIDIA's management library says: {other}"),
    }
}
