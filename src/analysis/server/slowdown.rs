//! A device that lowered its clocks, in words.

use super::devices::DeviceSummary;
use super::reported::ServerSide;
use crate::record::Gauge;
use crate::units::{counted, percent, three_digits};

/// Largest share of the window for which a device may be slowed down. A device that heat, its power supply or its
/// hardware slowed down for longer is not the device that it is otherwise. A shorter stretch moves no p90, and little
/// of a mean.
pub(crate) const SLOWED: f64 = 0.05;

/// Returns the longest slowed-down device of a run, with its figures, and the cure. `None` where no device that served
/// was slowed down for so long, or none reports it.
pub(crate) fn longest_slowdown(server: &ServerSide) -> Option<(String, String)> {
    let busy = server.devices.iter().filter(|device| device.was_busy());
    let slowed = busy.filter_map(|device| Some((device, device.slowed_down()?)));
    let slowed: Vec<_> = slowed.filter(|(_, (_, share))| *share > SLOWED).collect();
    let (device, (reason, share)) = slowed.iter().copied().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let others = match slowed.len() - 1 {
        0 => String::new(),
        more => format!(" ({} more)", counted(more as u64, "device")),
    };
    let words = format!(
        "device {}{others} lowered its clocks in {} of the window: {}{}",
        device.device,
        percent(share),
        reason_in_words(reason),
        clock_and_heat(device).map(|seen| format!("; {seen}")).unwrap_or_default()
    );
    let cure = match reason {
        Gauge::HwThermalSlowdown | Gauge::SwThermalSlowdown => {
            "cool the device (airflow, inlet temperature, fans), or lower its power limit, and run again: these \
             figures are those of its cooling"
        }
        Gauge::HwPowerBrakeSlowdown => {
            "look at the machine's power supply, which asked the device to slow down, and run again"
        }
        _ => "look at the device's temperature and power (nvidia-smi -q -d PERFORMANCE), and run again without that",
    };
    Some((words, cure.into()))
}

/// A reason for lowered clocks in words.
pub(crate) const fn reason_in_words(reason: Gauge) -> &'static str {
    match reason {
        Gauge::HwThermalSlowdown => "hardware thermal slowdown",
        Gauge::SwThermalSlowdown => "software thermal slowdown",
        Gauge::HwPowerBrakeSlowdown => "hardware power brake",
        Gauge::HwSlowdown => "hardware slowdown",
        Gauge::SyncBoost => "clocks of another device (sync boost)",
        _ => "power limit",
    }
}

/// Says the clock and heat of a device, as far as they are reported. An example is
/// `SM clock 900 of 1,980 MHz, up to 88.0 °C`.
pub(crate) fn clock_and_heat(device: &DeviceSummary) -> Option<String> {
    let clock = device.sm_clock_mhz.map(|clock| {
        let most = device.max_sm_clock_mhz.map(|most| format!(" of {}", three_digits(most)));
        format!("SM clock {}{} MHz", three_digits(clock.mean), most.unwrap_or_default())
    });
    let heat = device.temperature_c.map(|heat| format!("up to {:.0} °C", heat.max));
    let parts: Vec<_> = clock.into_iter().chain(heat).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
