//! The mapping of a library's values to readings, with values made by hand: no GPU is needed.

use super::*;

/// Two H100, of which the second holds no model.
#[derive(Debug)]
struct ByHand;

const GIB: u64 = 1 << 30;

fn serving() -> DeviceValues {
    DeviceValues {
        number: 0,
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        uuid: Some("GPU-a".to_owned()),
        utilisation_percent: Some(97),
        memory_busy_percent: Some(64),
        memory_used_bytes: Some(72 * GIB),
        memory_free_bytes: Some(8 * GIB),
        power_mw: Some(655_500),
        power_limit_mw: Some(700_000),
        energy_mj: Some(1_234_567_890),
        sm_clock_mhz: Some(900),
        max_sm_clock_mhz: Some(1_980),
        memory_clock_mhz: Some(2_619),
        temperature_c: Some(88),
        // Hardware slowdown and hardware thermal slowdown.
        throttle_mask: Some(0x48),
        activity: Some(Activity { dram: 12.0, tensor: 4.5, sm: 93.0 }),
    }
}

impl DeviceLibrary for ByHand {
    fn driver(&self) -> Option<String> {
        Some("580.95.05".to_owned())
    }

    fn devices(&self) -> Result<Vec<DeviceValues>, String> {
        let idle = DeviceValues {
            number: 1,
            uuid: Some("GPU-b".to_owned()),
            memory_used_bytes: Some(4 << 20),
            activity: None,
            throttle_mask: None,
            ..serving()
        };
        Ok(vec![serving(), idle])
    }
}

#[test]
fn what_the_library_says_becomes_a_reading() {
    let all = LocalDevices::new(Arc::new(ByHand), LocalChoice::All).unwrap();
    let source = &all.source;
    assert_eq!((source.url.as_str(), source.kind), ("nvml", Some(PageKind::Nvml)));
    assert_eq!(source.hardware.as_deref(), Some("2 × NVIDIA H100 80GB HBM3"));
    assert_eq!(source.driver.as_deref(), Some("580.95.05"));
    let reading = all.read().unwrap();
    assert!(reading.gauges.is_empty() && reading.devices.len() == 2);
    let first = &reading.devices["0"];
    let expected = [
        (Gauge::Utilisation, 0.97),
        (Gauge::MemoryBusy, 0.64),
        (Gauge::MemoryUsedBytes, 72.0 * GIB as f64),
        (Gauge::MemoryFreeBytes, 8.0 * GIB as f64),
        (Gauge::PowerW, 655.5),
        (Gauge::PowerLimitW, 700.0),
        (Gauge::SmClockMhz, 900.0),
        (Gauge::MaxSmClockMhz, 1_980.0),
        (Gauge::MemoryClockMhz, 2_619.0),
        (Gauge::TemperatureC, 88.0),
        (Gauge::DramActive, 0.12),
        (Gauge::TensorActive, 0.045),
        (Gauge::SmActive, 0.93),
        (Gauge::HwSlowdown, 1.0),
        (Gauge::HwThermalSlowdown, 1.0),
        (Gauge::SwThermalSlowdown, 0.0),
        (Gauge::HwPowerBrakeSlowdown, 0.0),
        (Gauge::SwPowerCap, 0.0),
        (Gauge::SyncBoost, 0.0),
    ];
    assert_eq!(first.gauges, expected.into());
    assert!((first.counters[&Counter::EnergyJ] - 1_234_567.89).abs() < 1e-6);
    // What is not reported is not 0.
    let second = &reading.devices["1"];
    assert!(
        !second.gauges.contains_key(&Gauge::HwSlowdown) && !second.gauges.contains_key(&Gauge::DramActive)
    );
}

#[test]
fn unless_all_are_asked_for_only_devices_that_hold_a_model_are_read() {
    let serving = LocalDevices::new(Arc::new(ByHand), LocalChoice::Serving).unwrap();
    assert_eq!(serving.source.hardware.as_deref(), Some("1 × NVIDIA H100 80GB HBM3"));
    assert_eq!(serving.read().unwrap().devices.keys().collect::<Vec<_>>(), ["0"]);
    assert_eq!(serving.uuids, ["GPU-a"]);
}

#[test]
fn a_machine_without_the_library_says_so() {
    // Where a GPU is, this finds it.
    if let Err(why) = LocalDevices::nvidia(LocalChoice::All) {
        assert!(why.contains("libnvidia-ml") || why.contains("GPU") || why.contains("NVIDIA"), "{why}");
    }
}
