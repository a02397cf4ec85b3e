//! Gauges of servers and devices, and how those of several add up.

use serde::{Deserialize, Serialize};

/// A gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gauge {
    /// Running requests.
    Running,
    /// Waiting requests.
    Waiting,
    /// Share of the key-value cache in use, 0 to 1.
    KvUsage,
    /// Prefix-cache hit rate, 0 to 1, as the server averages it.
    CacheHitRate,
    /// Answer tokens per second, as the server averages it.
    GenerationTokensPerS,
    /// Share of time in which the device was busy, 0 to 1.
    Utilisation,
    /// Memory of the device in use, bytes.
    MemoryUsedBytes,
    /// Memory of the device that is free, bytes.
    MemoryFreeBytes,
    /// Power draw, watts.
    PowerW,
    /// Limit of the power draw, watts.
    PowerLimitW,
    /// Share of cycles with the device's memory sending or receiving data, 0 to 1.
    DramActive,
    /// Share of time with the memory read or written at all, 0 to 1. It is never less than the memory's activity.
    MemoryBusy,
    /// Share of cycles in which the matrix units were active, 0 to 1.
    TensorActive,
    /// Share of cycles in which a multiprocessor had work, 0 to 1. It is averaged over all of them.
    SmActive,
    /// Clock of the multiprocessors, MHz.
    SmClockMhz,
    /// The highest that it can be, MHz.
    MaxSmClockMhz,
    /// Clock of the memory, MHz.
    MemoryClockMhz,
    /// Temperature of the device, degrees Celsius.
    TemperatureC,
    /// Share of time with clocks lowered to keep to the power limit, 0 to 1.
    SwPowerCap,
    /// Share of time with clocks lowered by hardware to half or less, 0 to 1. The cause is heat, a power brake, or too
    /// high a current.
    HwSlowdown,
    /// Share of time with clocks lowered to keep to another device's, 0 to 1.
    SyncBoost,
    /// Share of time with clocks lowered against heat, 0 to 1. The device or its memory was too hot.
    SwThermalSlowdown,
    /// Share of time with clocks lowered to half or less against heat, 0 to 1. The hardware lowered them, and the
    /// device was too hot.
    HwThermalSlowdown,
    /// Share of time with clocks lowered to half or less for power, 0 to 1. The power supply asked for it.
    HwPowerBrakeSlowdown,
}

impl Gauge {
    /// Shares of time in which the clocks were lowered, the gravest first. With them are the bits that NVML has for
    /// them (`nvmlClocksThrottleReason…`, now `nvmlClocksEventReason…`).
    pub const THROTTLING: [(Self, u64); 6] = [
        (Self::HwThermalSlowdown, 0x40),
        (Self::HwPowerBrakeSlowdown, 0x80),
        (Self::HwSlowdown, 0x08),
        (Self::SwThermalSlowdown, 0x20),
        (Self::SyncBoost, 0x10),
        (Self::SwPowerCap, 0x04),
    ];

    /// Returns whether it is a share of time with a slowdown. Heat, the power supply or the hardware lowered the
    /// clocks: such a device is not as fast as it is otherwise. A power limit is part of how a device is set up.
    pub const fn is_slowdown(self) -> bool {
        matches!(
            self,
            Self::HwSlowdown | Self::SwThermalSlowdown | Self::HwThermalSlowdown | Self::HwPowerBrakeSlowdown
        )
    }

    /// Reads the throttling from a mask of NVML's bits. It is 1 for each that is set, else 0.
    pub fn throttling_of(mask: u64) -> impl Iterator<Item = (Self, f64)> {
        Self::THROTTLING.into_iter().map(move |(gauge, bit)| (gauge, f64::from(u8::from(mask & bit != 0))))
    }

    /// Whether values of several engines or devices are summed; otherwise they are averaged.
    pub const fn adds_up(self) -> bool {
        matches!(
            self,
            Self::Running
                | Self::Waiting
                | Self::GenerationTokensPerS
                | Self::MemoryUsedBytes
                | Self::MemoryFreeBytes
                | Self::PowerW
                | Self::PowerLimitW
        )
    }

    /// The value of several engines or devices together: their sum or mean; `None` without values.
    pub fn together(self, values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let (sum, parts) = values.into_iter().fold((0.0, 0_u64), |(sum, n), value| (sum + value, n + 1));
        (parts > 0).then(|| if self.adds_up() { sum } else { sum / parts as f64 })
    }
}
