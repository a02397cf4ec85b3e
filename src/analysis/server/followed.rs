//! Follows a gauge over a run, of all pages and devices that report it.

use std::collections::BTreeMap;

use super::track::Track;
use crate::record::{Gauge, Reading, RunLog};

/// A gauge of all pages and devices together over a run, straight lines between readings: their sum, or their mean where values
/// do not add up.
#[derive(Clone, Debug)]
pub struct FollowedGauge(Track);

/// A page, or a device on it.
type Part<'a> = (u16, Option<&'a str>);

impl FollowedGauge {
    /// `None` where no page reports it, or no two that do at the same time.
    pub fn of(log: &RunLog, gauge: Gauge) -> Option<Self> {
        let mut parts: BTreeMap<Part<'_>, Vec<(f64, f64)>> = BTreeMap::new();
        for reading in &log.telemetry.readings {
            for (device, value) in reported(reading, gauge) {
                parts.entry((reading.source, device)).or_default().push((reading.moment_s(), value));
            }
        }
        let tracks: Vec<Track> =
            parts.into_values().filter_map(|points| Track::of(points.into_iter())).collect();
        Track::together(&tracks, gauge).map(Self)
    }

    /// Its mean over as much of a stretch of time, in seconds since the run's zero, as it is known of; `None` of none.
    pub fn over(&self, stretch: (f64, f64)) -> Option<f64> {
        self.0.over(stretch).map(|known| known.mean)
    }
}

/// What a page and its devices report of a gauge.
fn reported(reading: &Reading, gauge: Gauge) -> impl Iterator<Item = (Option<&str>, f64)> {
    let own = reading.gauges.get(&gauge).map(|value| (None, *value));
    let of_devices = reading
        .devices
        .iter()
        .filter_map(move |(name, device)| Some((Some(name.as_str()), *device.gauges.get(&gauge)?)));
    own.into_iter().chain(of_devices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{ms, run};
    use crate::record::DeviceReading;

    fn reading(source: u16, at: u64, running: f64, busy: &[f64]) -> Reading {
        let device = |(number, share): (usize, &f64)| {
            let gauges = BTreeMap::from([(Gauge::Utilisation, *share)]);
            (number.to_string(), DeviceReading { gauges, ..Default::default() })
        };
        Reading {
            source,
            asked: ms(at),
            answered: ms(at),
            gauges: BTreeMap::from([(Gauge::Running, running)]),
            counters: BTreeMap::new(),
            devices: busy.iter().enumerate().map(device).collect(),
            histograms: BTreeMap::new(),
        }
    }

    fn followed(readings: Vec<Reading>, gauge: Gauge) -> Option<FollowedGauge> {
        let mut log = run(10_000, Vec::new());
        log.telemetry.readings = readings;
        FollowedGauge::of(&log, gauge)
    }

    /// Read every 2 s, asked by seconds: none of them is empty.
    #[test]
    fn between_readings_it_goes_straight() {
        let readings =
            vec![reading(0, 1_000, 2.0, &[]), reading(0, 3_000, 6.0, &[]), reading(0, 5_000, 6.0, &[])];
        let gauge = followed(readings, Gauge::Running).unwrap();
        let by_second: Vec<_> = (0..7).map(|s| gauge.over((f64::from(s), f64::from(s + 1)))).collect();
        // Of the first second the reading at its end alone is known, of the fifth the one at its beginning.
        let known = [Some(2.0), Some(3.0), Some(5.0), Some(6.0), Some(6.0), Some(6.0), None];
        assert_eq!(by_second, known);
    }

    #[test]
    fn of_several_all_must_tell() {
        // The second replica is there from 2 s to 4 s.
        let readings = vec![
            reading(0, 0, 1.0, &[]),
            reading(1, 2_000, 10.0, &[]),
            reading(1, 4_000, 20.0, &[]),
            reading(0, 6_000, 1.0, &[]),
        ];
        let gauge = followed(readings, Gauge::Running).unwrap();
        assert_eq!(
            (gauge.over((0.0, 1.0)), gauge.over((2.0, 4.0)), gauge.over((5.0, 6.0))),
            (None, Some(16.0), None)
        );
        let apart = vec![reading(0, 0, 1.0, &[]), reading(1, 2_000, 1.0, &[])];
        assert!(followed(apart, Gauge::Running).is_none());
        assert!(followed(Vec::new(), Gauge::Running).is_none());
    }

    /// One page of one device and one of four: a mean over five devices, not over two pages.
    #[test]
    fn every_device_weighs_the_same() {
        let readings = vec![reading(0, 0, 0.0, &[1.0]), reading(1, 0, 0.0, &[0.5, 0.5, 0.5, 0.5])];
        assert_eq!(followed(readings, Gauge::Utilisation).unwrap().over((0.0, 1.0)), Some(0.6));
    }
}
