//! The current state of the server and its devices, from the latest reading of each page.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{DeviceReading, Gauge, Reading, ServerState};

/// Intervals without a reading after which a page counts as silent. It never does before `LEAST`.
const INTERVALS: u32 = 3;
const LEAST: Duration = Duration::from_secs(5);

/// The latest reading of each page.
#[derive(Debug)]
pub(crate) struct LatestReadings {
    pages: BTreeMap<u16, Reading>,
    patience: Duration,
}

impl LatestReadings {
    /// Readings of pages that are read at this interval.
    pub(crate) fn every(interval: Duration) -> Self {
        let patience = interval.saturating_mul(INTERVALS).max(LEAST);
        Self { pages: BTreeMap::new(), patience }
    }

    /// Returns the values of all pages together after `reading`. They are sums, or means of values that do not add up.
    /// A value that only some devices report is left out, since it is not that of all. A silent page is left out too.
    pub(crate) fn with(&mut self, reading: &Reading) -> ServerState {
        let now = reading.answered;
        self.pages.insert(reading.source, reading.clone());
        let speaking = self.pages.values().filter(|page| now.since(page.answered) <= self.patience);
        let speaking: Vec<_> = speaking.collect();
        let engines: Vec<_> = speaking.iter().map(|reading| &reading.gauges).collect();
        let devices = || speaking.iter().map(|reading| &reading.devices);
        let is_whole = |name: &str| !name.contains(' ');
        // A partitioned device reports its power; its partitions report the rest.
        let whole: Vec<_> = devices().flatten().filter(|(name, _)| is_whole(name)).collect();
        let least = devices().flat_map(|all| {
            let in_parts = |name: &str| all.keys().any(|part| part.split_once(' ').is_some_and(|of| of.0 == name));
            all.iter().filter(move |(name, _)| !in_parts(name))
        });
        let least: Vec<_> = least.collect();
        let mut gauges = together(&engines);
        gauges.extend(common_to_all(&whole).into_iter().filter(|(gauge, _)| *gauge == Gauge::PowerW));
        gauges.extend(common_to_all(&least).into_iter().filter(|(gauge, _)| *gauge != Gauge::PowerW));
        ServerState {
            gauges,
            devices: whole.len() as u64,
            silent: (self.pages.len() - speaking.len()) as u64,
            until: Some(now.after(self.patience)),
        }
    }
}

/// Values that all of these devices report.
fn common_to_all(devices: &[(&String, &DeviceReading)]) -> BTreeMap<Gauge, f64> {
    let gauges: Vec<_> = devices.iter().map(|(_, device)| &device.gauges).collect();
    let by_all = |gauge: &Gauge| gauges.iter().all(|gauges| gauges.contains_key(gauge));
    together(&gauges).into_iter().filter(|(gauge, _)| by_all(gauge)).collect()
}

/// The joint values of several engines or devices.
fn together(reported: &[&BTreeMap<Gauge, f64>]) -> BTreeMap<Gauge, f64> {
    let mut all: BTreeMap<Gauge, Vec<f64>> = BTreeMap::new();
    for (gauge, value) in reported.iter().copied().flatten() {
        all.entry(*gauge).or_default().push(*value);
    }
    all.into_iter().filter_map(|(gauge, values)| Some((gauge, gauge.together(values)?))).collect()
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
            ..Reading::default()
        }
    }

    #[test]
    fn replicas_are_one_server() {
        let mut latest = LatestReadings::every(Duration::from_secs(1));
        latest.with(&reading(0, &[(Gauge::Running, 9.0), (Gauge::KvUsage, 0.9)]));
        latest.with(&reading(1, &[(Gauge::Running, 2.0), (Gauge::KvUsage, 0.5)]));
        let now = latest.with(&reading(0, &[(Gauge::Running, 4.0), (Gauge::KvUsage, 0.25)]));
        let gauges = [(Gauge::Running, 6.0), (Gauge::KvUsage, 0.375)].into();
        assert_eq!((now.gauges, now.devices, now.silent), (gauges, 0, 0));
    }

    #[test]
    fn devices_of_all_machines_are_reported_together() {
        let machine = |source, devices: &[&[(Gauge, f64)]]| {
            let device = |gauges: &&[(Gauge, f64)]| DeviceReading {
                gauges: gauges.iter().copied().collect(),
                counters: BTreeMap::new(),
            };
            let numbered = devices.iter().enumerate().map(|(i, gauges)| (i.to_string(), device(gauges)));
            Reading { devices: numbered.collect(), ..reading(source, &[]) }
        };
        let (busy, watts, used) = (Gauge::Utilisation, Gauge::PowerW, Gauge::MemoryUsedBytes);
        let mut latest = LatestReadings::every(Duration::from_secs(1));
        latest.with(&reading(0, &[(Gauge::Running, 4.0)]));
        let one = latest.with(&machine(1, &[&[(busy, 0.9), (watts, 400.0), (used, 6e10)]]));
        let running = (Gauge::Running, 4.0);
        let expected = [running, (busy, 0.9), (watts, 400.0), (used, 6e10)].into();
        assert_eq!((one.gauges, one.devices), (expected, 1));
        // Both number theirs from 0, and one of the second machine's does not report its memory.
        let second = machine(2, &[&[(busy, 0.5), (watts, 300.0)], &[(busy, 0.1), (watts, 50.0), (used, 1e10)]]);
        let all = latest.with(&second);
        assert_eq!(all.devices, 3);
        assert!((all.gauges[&busy] - 0.5).abs() < 1e-12 && (all.gauges[&watts] - 750.0).abs() < 1e-9);
        assert!(!all.gauges.contains_key(&used), "the memory of two is not that of three");
    }

    #[test]
    fn a_page_that_died_is_forgotten() {
        let at = |source, second: u64, running| {
            let answered = Timestamp::from_nanos(second * 1_000_000_000);
            Reading { answered, ..reading(source, &[(Gauge::Running, running)]) }
        };
        let mut latest = LatestReadings::every(Duration::from_secs(1));
        latest.with(&at(0, 10, 7.0));
        let still = latest.with(&at(1, 15, 2.0));
        assert_eq!((still.gauges[&Gauge::Running], still.silent), (9.0, 0));
        assert_eq!(still.until, Some(Timestamp::from_nanos(20_000_000_000)));
        let gone = latest.with(&at(1, 16, 2.0));
        assert_eq!((gone.gauges[&Gauge::Running], gone.silent), (2.0, 1));
        // Pages read every 10 s are awaited for half a minute.
        let mut seldom = LatestReadings::every(Duration::from_secs(10));
        seldom.with(&at(0, 10, 7.0));
        assert_eq!(seldom.with(&at(1, 40, 2.0)).silent, 0);
    }

    #[test]
    fn a_device_in_parts_has_one_power() {
        let device = |gauges: &[(Gauge, f64)]| DeviceReading {
            gauges: gauges.iter().copied().collect(),
            counters: BTreeMap::new(),
        };
        let part = |busy, used| device(&[(Gauge::Utilisation, busy), (Gauge::MemoryUsedBytes, used)]);
        let devices = [
            ("0".to_owned(), device(&[(Gauge::PowerW, 400.0)])),
            ("0 7".to_owned(), part(0.5, 3.0)),
            ("0 8".to_owned(), part(0.7, 4.0)),
        ];
        let mut latest = LatestReadings::every(Duration::from_secs(1));
        let now = latest.with(&Reading { devices: devices.into(), ..reading(0, &[]) });
        let expected = [(Gauge::PowerW, 400.0), (Gauge::Utilisation, 0.6), (Gauge::MemoryUsedBytes, 7.0)].into();
        assert_eq!((now.gauges, now.devices), (expected, 1));
    }
}
