//! What exporters of accelerators call their metrics.

use crate::engine::dialect_traits::{AS_IT_IS, ENGINE, MetricNames, SelectingLabel};
use crate::record::{Counter, Gauge, PageKind};

const PERCENT: f64 = 0.01;
const MIB: f64 = 1_048_576.0;
const MILLI: f64 = 1e-3;
const MICRO: f64 = 1e-6;

/// Metric names of NVIDIA's exporter. Utilisation is in percent, memory in MiB, power in watts, energy in millijoules
/// since the driver was loaded, clocks in MHz; what begins with `PROF` is a share of cycles. A partition of a GPU (MIG)
/// is a device of its own, with memory and the share of time in which its engines were active; the exporter repeats the
/// power of the whole GPU for each. Where a GPU reports its utilisation both ways, the last row counts.
pub(in crate::engine) const DCGM: MetricNames = MetricNames {
    kind: PageKind::Dcgm,
    prefix: "DCGM_FI_",
    gauges: &[
        (Gauge::Utilisation, AS_IT_IS, &["DCGM_FI_PROF_GR_ENGINE_ACTIVE"]),
        (Gauge::Utilisation, PERCENT, &["DCGM_FI_DEV_GPU_UTIL"]),
        (Gauge::MemoryUsedBytes, MIB, &["DCGM_FI_DEV_FB_USED"]),
        (Gauge::MemoryFreeBytes, MIB, &["DCGM_FI_DEV_FB_FREE"]),
        (Gauge::PowerW, AS_IT_IS, &["DCGM_FI_DEV_POWER_USAGE"]),
        (Gauge::PowerLimitW, AS_IT_IS, &["DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_POWER_MGMT_LIMIT"]),
        (Gauge::DramActive, AS_IT_IS, &["DCGM_FI_PROF_DRAM_ACTIVE"]),
        (Gauge::MemoryBusy, PERCENT, &["DCGM_FI_DEV_MEM_COPY_UTIL"]),
        (Gauge::TensorActive, AS_IT_IS, &["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"]),
        (Gauge::SmActive, AS_IT_IS, &["DCGM_FI_PROF_SM_ACTIVE"]),
        (Gauge::SmClockMhz, AS_IT_IS, &["DCGM_FI_DEV_SM_CLOCK"]),
        (Gauge::MaxSmClockMhz, AS_IT_IS, &["DCGM_FI_DEV_MAX_SM_CLOCK"]),
        (Gauge::MemoryClockMhz, AS_IT_IS, &["DCGM_FI_DEV_MEM_CLOCK"]),
        (Gauge::TemperatureC, AS_IT_IS, &["DCGM_FI_DEV_GPU_TEMP"]),
    ],
    counters: &[(Counter::EnergyJ, MILLI, &["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"])],
    device: &["gpu", "GPU_I_ID"],
    of_whole_devices: &[
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
        "DCGM_FI_DEV_POWER_MGMT_LIMIT",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_DEV_MAX_SM_CLOCK",
        "DCGM_FI_DEV_MEM_CLOCK",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
    ],
    throttle_mask: &["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"],
    hardware: "modelName",
    driver: "DCGM_FI_DRIVER_VERSION",
    ..ENGINE
};

/// Metric names of AMD's exporter. Activity is in percent, memory in MiB, power in watts, energy in microjoules, clocks
/// in MHz, throttling the percent of the last interval (`docs/configuration/metricslist.md` of
/// ROCm/device-metrics-exporter). `gpu_umc_activity` is the share of time in which the memory controller was busy, not
/// a share of its bandwidth.
pub(in crate::engine) const AMD_DEVICE: MetricNames = MetricNames {
    kind: PageKind::AmdDevice,
    prefix: "gpu_",
    gauges: &[
        (Gauge::Utilisation, PERCENT, &["gpu_gfx_activity"]),
        (Gauge::MemoryUsedBytes, MIB, &["gpu_used_vram"]),
        (Gauge::MemoryFreeBytes, MIB, &["gpu_free_vram"]),
        (Gauge::PowerW, AS_IT_IS, &["gpu_package_power", "gpu_average_package_power", "gpu_power_usage"]),
        (Gauge::MemoryBusy, PERCENT, &["gpu_umc_activity"]),
        (Gauge::TensorActive, PERCENT, &["gpu_prof_tensor_active_percent"]),
        (Gauge::SmActive, PERCENT, &["gpu_prof_sm_active"]),
        (Gauge::SmClockMhz, AS_IT_IS, &["gpu_clock system"]),
        (Gauge::MaxSmClockMhz, AS_IT_IS, &["gpu_max_clock system"]),
        (Gauge::MemoryClockMhz, AS_IT_IS, &["gpu_clock memory"]),
        (Gauge::TemperatureC, AS_IT_IS, &["gpu_junction_temperature", "gpu_edge_temperature"]),
    ],
    counters: &[(Counter::EnergyJ, MICRO, &["gpu_energy_consumed"])],
    device: &["gpu_id"],
    selecting: Some(SelectingLabel { label: "clock_type", prefix: "gpu_clock_type_", part: "clock_index" }),
    throttle_shares: &[
        (Gauge::HwSlowdown, PERCENT, "gpu_violation_processor_hot_residency_percentage"),
        (Gauge::HwThermalSlowdown, PERCENT, "gpu_violation_socket_thermal_residency_percentage"),
        (Gauge::HwThermalSlowdown, PERCENT, "gpu_violation_vr_thermal_residency_percentage"),
        (Gauge::SwThermalSlowdown, PERCENT, "gpu_violation_hbm_thermal_residency_percentage"),
        (Gauge::SwPowerCap, PERCENT, "gpu_violation_ppt_residency_percentage"),
    ],
    hardware: "card_model",
    driver: "driver_version",
    ..ENGINE
};

/// Power in microwatts, temperature in millidegrees, clocks in Hz, as `rocm_smi_lib` has them. Each series
/// names the device in a label that is called like the series itself, without `amd_`.
pub(in crate::engine) const AMD_SMI: MetricNames = MetricNames {
    kind: PageKind::AmdSmi,
    prefix: "amd_gpu_",
    gauges: &[
        (Gauge::Utilisation, PERCENT, &["amd_gpu_use_percent"]),
        (Gauge::PowerW, MICRO, &["amd_gpu_power", "amd_gpu_power_avg"]),
        (Gauge::PowerLimitW, MICRO, &["amd_gpu_power_cap"]),
        (Gauge::SmClockMhz, MICRO, &["amd_gpu_SCLK"]),
        (Gauge::MemoryClockMhz, MICRO, &["amd_gpu_MCLK"]),
        (Gauge::TemperatureC, MILLI, &["amd_gpu_current_temperature"]),
        (Gauge::MemoryBusy, PERCENT, &["amd_gpu_memory_use_percent"]),
    ],
    device: &[
        "gpu_use_percent",
        "gpu_memory_use_percent",
        "gpu_power",
        "gpu_power_avg",
        "gpu_power_cap",
        "gpu_SCLK",
        "gpu_MCLK",
        "gpu_current_temperature",
    ],
    hardware: "productname",
    ..ENGINE
};

/// The management library has no page, so its metrics have no names.
pub(in crate::engine) const NVML: MetricNames =
    MetricNames { kind: PageKind::Nvml, prefix: "nvml", device: &["gpu"], ..ENGINE };
