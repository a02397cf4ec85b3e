//! The mapping of a library's values to readings, with values made by hand: no GPU is needed.

use super::*;

/// Two H100, of which the second holds no model.
#[derive(Debug)]
struct ByHand;

const GIB: f64 = 1_073_741_824.0;

fn serving() -> LocalDevice {
    let values = [
        (Gauge::Utilisation, Some(97.0)),
        (Gauge::MemoryBusy, Some(64.0)),
        (Gauge::MemoryUsedBytes, Some(72.0 * GIB)),
        (Gauge::MemoryFreeBytes, Some(8.0 * GIB)),
        (Gauge::PowerW, Some(655_500.0)),
        (Gauge::PowerLimitW, Some(700_000.0)),
        (Gauge::SmClockMhz, Some(900.0)),
        (Gauge::MaxSmClockMhz, Some(1_980.0)),
        (Gauge::MemoryClockMhz, Some(2_619.0)),
        (Gauge::TemperatureC, Some(88.0)),
        (Gauge::DramActive, Some(12.0)),
        (Gauge::TensorActive, Some(4.5)),
        (Gauge::SmActive, Some(93.0)),
    ];
    LocalDevice {
        number: 0,
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        uuid: Some("GPU-a".to_owned()),
        // Hardware slowdown and hardware thermal slowdown.
        reading: reading(values, Some(0x48), Some(1_234_567_890)),
    }
}

impl DeviceLibrary for ByHand {
    fn driver(&self) -> Option<String> {
        Some("580.95.05".to_owned())
    }

    fn devices(&self) -> Result<Vec<LocalDevice>, String> {
        let reading = DeviceReading { gauges: [(Gauge::MemoryUsedBytes, 4e6)].into(), ..DeviceReading::default() };
        let idle = LocalDevice { number: 1, uuid: Some("GPU-b".to_owned()), reading, ..serving() };
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
        (Gauge::MemoryUsedBytes, 72.0 * GIB),
        (Gauge::MemoryFreeBytes, 8.0 * GIB),
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
    assert!(!second.gauges.contains_key(&Gauge::HwSlowdown) && !second.gauges.contains_key(&Gauge::DramActive));
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
