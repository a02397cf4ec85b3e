//! How the server is now, by the last that each of its pages told.

use std::collections::BTreeMap;

use crate::record::{Gauge, Reading};

/// The last that each page told.
#[derive(Debug, Default)]
pub struct Latest {
    pages: BTreeMap<u16, BTreeMap<Gauge, f64>>,
}

impl Latest {
    /// The values of all pages together, with `reading` in place of what its page told before: their sum, or their mean
    /// where values do not add up. `None` where it tells nothing of the server, but of devices.
    pub fn with(&mut self, reading: &Reading) -> Option<BTreeMap<Gauge, f64>> {
        if reading.gauges.is_empty() {
            return None;
        }
        self.pages.insert(reading.source, reading.gauges.clone());
        let mut all: BTreeMap<Gauge, (f64, f64)> = BTreeMap::new();
        for (gauge, value) in self.pages.values().flatten() {
            let (sum, pages) = all.entry(*gauge).or_default();
            (*sum, *pages) = (*sum + value, *pages + 1.0);
        }
        let together = |(gauge, (sum, pages)): (Gauge, (f64, f64))| {
            (gauge, if gauge.adds_up() { sum } else { sum / pages })
        };
        Some(all.into_iter().map(together).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn replicas_are_one_server() {
        let reading = |source, gauges: &[(Gauge, f64)]| Reading {
            source,
            asked: Timestamp::ZERO,
            answered: Timestamp::ZERO,
            gauges: gauges.iter().copied().collect(),
            counters: BTreeMap::new(),
            devices: BTreeMap::new(),
            histograms: BTreeMap::new(),
        };
        let mut latest = Latest::default();
        latest.with(&reading(0, &[(Gauge::Running, 9.0), (Gauge::KvUsage, 0.9)]));
        latest.with(&reading(1, &[(Gauge::Running, 2.0), (Gauge::KvUsage, 0.5)]));
        let now = latest.with(&reading(0, &[(Gauge::Running, 4.0), (Gauge::KvUsage, 0.25)])).unwrap();
        assert_eq!(now, [(Gauge::Running, 6.0), (Gauge::KvUsage, 0.375)].into());
        assert_eq!(latest.with(&reading(2, &[])), None, "an exporter of devices");
    }
}
