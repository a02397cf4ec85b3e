//! The devices of a server in words and tables.

use crate::analysis::{DeviceSummary, GaugeSummary, reason_in_words};
use crate::record::Gauge;
use crate::report::document::{Table, TableOf};
use crate::units::{counted, listed, percent, three_digits};

pub(super) const GIB: f64 = 1_073_741_824.0;

/// Mean and largest of a share.
pub(super) fn shares(gauge: GaugeSummary) -> String {
    format!("mean {}, max {}", percent(gauge.mean), percent(gauge.max))
}

/// Several remarks in one line; `None` of none.
pub(super) fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    listed(parts.into_iter().flatten(), "; ")
}

/// All devices together: their mean, and the largest of each.
pub(super) fn together_in_words(devices: &[DeviceSummary]) -> Option<String> {
    let memory = DeviceSummary::together(devices, |device| device.memory_used_bytes)
        .map(|memory| format!("memory up to {} GiB", three_digits(memory.max / GIB)));
    let power = DeviceSummary::together(devices, |device| device.power_w)
        .map(|power| format!("{} W", three_digits(power.mean)));
    let busy =
        DeviceSummary::together(devices, |device| device.utilisation).map(|busy| format!("busy {}", shares(busy)));
    let line = joined([busy, memory, power])?;
    let parts = devices.iter().filter(|device| device.part_of.is_some()).count();
    Some(match (devices.len() - parts, parts) {
        (1, 0) => line,
        (whole, 0) => format!("{whole}, each {line}"),
        (whole, parts) => format!("{whole} in {}, each {line} a device", counted(parts as u64, "part")),
    })
}

/// Shows how busy and full they were, and what power they drew.
pub(super) fn use_of(devices: &[DeviceSummary]) -> TableOf<&DeviceSummary> {
    Table::over("Devices", devices)
        .column("device", |device| device.device.as_str())
        .column("busy, mean", |device| device.utilisation.map(|busy| percent(busy.mean)))
        .column("busy, max", |device| device.utilisation.map(|busy| percent(busy.max)))
        .column("memory, max, GiB", |device| device.memory_used_bytes.map(|memory| memory.max / GIB))
        .column("power, mean, W", |device| device.power_w.map(|power| power.mean))
        .column("power, max, W", |device| device.power_w.map(|power| power.max))
}

/// Shows what the devices that report it were busy with, and how fast they were.
pub(super) fn activity(devices: &[DeviceSummary]) -> TableOf<&DeviceSummary> {
    let share = |gauge: Option<GaugeSummary>| gauge.map(|gauge| percent(gauge.mean));
    let speaks = |device: &&DeviceSummary| {
        let gauges =
            [device.dram_active, device.memory_busy, device.tensor_active, device.sm_active, device.sm_clock_mhz];
        gauges.iter().any(Option::is_some) || device.temperature_c.is_some() || !device.throttled.is_empty()
    };
    Table::over("What the devices did", devices.iter().filter(speaks))
        .column("device", |device| device.device.as_str())
        .column("memory active", |device| share(device.dram_active))
        .column("memory busy", |device| share(device.memory_busy))
        .column("tensor", |device| share(device.tensor_active))
        .column("SM", |device| share(device.sm_active))
        .column("SM clock, MHz", |device| device.sm_clock_mhz.map(|clock| clock.mean))
        .column("min", |device| device.sm_clock_mhz.map(|clock| clock.min))
        .column("°C, max", |device| device.temperature_c.map(|heat| heat.max))
        .column("limit, W", |device| device.power_limit_w.map(|limit| limit.mean))
        .column("clocks lowered", lowered)
}

/// Lists every reason why a device was throttled, such as `100 % hardware thermal slowdown`. It is `no` of a device
/// that reports none.
fn lowered(device: &DeviceSummary) -> Option<String> {
    let reasons = Gauge::THROTTLING.iter().filter_map(|(reason, _)| Some((*reason, *device.throttled.get(reason)?)));
    let reasons = reasons.filter(|(_, share)| *share > 0.0);
    let reasons = reasons.map(|(reason, share)| format!("{} {}", percent(share), reason_in_words(reason)));
    listed(reasons, "; ").or((!device.throttled.is_empty()).then(|| "no".to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::report::document::Document;
    use crate::report::{Colour, Extent, Style, render};
    use crate::telemetry::test_pages::{MEMORY_BOUND, THROTTLED, with_page};

    /// The full report of a run beside this page.
    fn shown(page: &str) -> String {
        let records = (0..20).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 20, 5, 5).build());
        let summary = summarise(&with_page(run(2_000, records.collect()), page), &[]);
        let document = Document::new("devices").with([crate::report::documents::run::server::section(&summary)]);
        render::text(&document, Style { colour: Colour::Plain, width: 160 }, Extent::Full)
    }

    #[test]
    fn the_counters_of_a_device_have_a_row() {
        let hot = shown(THROTTLED);
        for part in ["12 %", "SM clock, MHz", "900", "100 % hardware thermal slowdown; 100 % hardware slowdown"] {
            assert!(hot.contains(part), "{part} is not in {hot}");
        }
        let cool = shown(MEMORY_BOUND);
        assert!(cool.contains("74.3 %") && cool.contains("1,980") && !cool.contains("slowdown"), "{cool}");
        // Of an exporter that reports none of it there is no table.
        let bare = shown("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\n");
        assert!(bare.contains("busy mean 50 %") && !bare.contains("SM clock"), "{bare}");
    }
}
