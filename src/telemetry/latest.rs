//! How the server and its devices are now, by the last that each of their pages told.

use std::collections::BTreeMap;

use crate::record::{Gauge, Reading, ServerState};

/// The last that each page told.
#[derive(Debug, Default)]
pub struct Latest {
    pages: BTreeMap<u16, Reading>,
}

impl Latest {
    /// The values of all pages together, with `reading` in place of what its page told before: their sum, or their mean
    /// where values do not add up. What only some of the devices tell is left out: it is not that of all.
    pub fn with(&mut self, reading: &Reading) -> ServerState {
        self.pages.insert(reading.source, reading.clone());
        let engines: Vec<_> = self.pages.values().map(|reading| &reading.gauges).collect();
        let devices: Vec<_> = self.pages.values().flat_map(|reading| reading.devices.values()).collect();
        let of_devices: Vec<_> = devices.iter().map(|device| &device.gauges).collect();
        let told_by_all = |gauge: &Gauge| of_devices.iter().all(|gauges| gauges.contains_key(gauge));
        let mut gauges = together(&engines);
        gauges.extend(together(&of_devices).into_iter().filter(|(gauge, _)| told_by_all(gauge)));
        ServerState { gauges, devices: devices.len() as u64 }
    }
}

/// The values of several engines, or of several devices.
fn together(told: &[&BTreeMap<Gauge, f64>]) -> BTreeMap<Gauge, f64> {
    let mut all: BTreeMap<Gauge, (f64, f64)> = BTreeMap::new();
    for (gauge, value) in told.iter().copied().flatten() {
        let (sum, parts) = all.entry(*gauge).or_default();
        (*sum, *parts) = (*sum + value, *parts + 1.0);
    }
    let value =
        |(gauge, (sum, parts)): (Gauge, (f64, f64))| (gauge, if gauge.adds_up() { sum } else { sum / parts });
    all.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::record::DeviceReading;

    fn reading(source: u16, gauges: &[(Gauge, f64)]) -> Reading {
        Reading {
            source,
            asked: Timestamp::ZERO,
            answered: Timestamp::ZERO,
            gauges: gauges.iter().copied().collect(),
            counters: BTreeMap::new(),
            devices: BTreeMap::new(),
            histograms: BTreeMap::new(),
        }
    }

    #[test]
    fn replicas_are_one_server() {
        let mut latest = Latest::default();
        latest.with(&reading(0, &[(Gauge::Running, 9.0), (Gauge::KvUsage, 0.9)]));
        latest.with(&reading(1, &[(Gauge::Running, 2.0), (Gauge::KvUsage, 0.5)]));
        let now = latest.with(&reading(0, &[(Gauge::Running, 4.0), (Gauge::KvUsage, 0.25)]));
        let gauges = [(Gauge::Running, 6.0), (Gauge::KvUsage, 0.375)].into();
        assert_eq!(now, ServerState { gauges, devices: 0 });
    }

    #[test]
    fn devices_of_all_machines_are_told_together() {
        let machine = |source, devices: &[&[(Gauge, f64)]]| {
            let device = |gauges: &&[(Gauge, f64)]| DeviceReading {
                gauges: gauges.iter().copied().collect(),
                counters: BTreeMap::new(),
            };
            let numbered = devices.iter().enumerate().map(|(i, gauges)| (i.to_string(), device(gauges)));
            Reading { devices: numbered.collect(), ..reading(source, &[]) }
        };
        let (busy, watts, used) = (Gauge::Utilisation, Gauge::PowerW, Gauge::MemoryUsedBytes);
        let mut latest = Latest::default();
        latest.with(&reading(0, &[(Gauge::Running, 4.0)]));
        let one = latest.with(&machine(1, &[&[(busy, 0.9), (watts, 400.0), (used, 6e10)]]));
        let running = (Gauge::Running, 4.0);
        let expected = [running, (busy, 0.9), (watts, 400.0), (used, 6e10)].into();
        assert_eq!(one, ServerState { gauges: expected, devices: 1 });
        // Both number theirs from 0, and one of the second machine's does not tell its memory.
        let second =
            machine(2, &[&[(busy, 0.5), (watts, 300.0)], &[(busy, 0.1), (watts, 50.0), (used, 1e10)]]);
        let all = latest.with(&second);
        assert_eq!(all.devices, 3);
        assert!((all.gauges[&busy] - 0.5).abs() < 1e-12 && (all.gauges[&watts] - 750.0).abs() < 1e-9);
        assert!(!all.gauges.contains_key(&used), "the memory of two is not that of three");
    }
}
