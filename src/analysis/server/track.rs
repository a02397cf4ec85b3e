//! A gauge over time: its samples, its figures, and how it followed the load.

use std::collections::BTreeMap;

use serde::Serialize;

use super::histogram;
use crate::record::{Counter, Gauge, Reading, RunLog, ServerTime, TimeHistogram};

/// Share of the window by which spans that count as one may differ.
const APART: f64 = 0.05;

/// The readings next to the ends of the window, and those in between. Those at the ends have all that the page tells.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub(super) first: &'a Reading,
    pub(super) last: &'a Reading,
    /// Readings from the first to the last, both among them.
    pub(super) between: Vec<&'a Reading>,
}

impl<'a> Span<'a> {
    /// Makes the span of the readings of one page, given in their order. `None` where there are no two.
    pub(super) fn new(readings: &[&'a Reading], window: (f64, f64)) -> Option<Self> {
        // Only where none has histograms, as of pages that know of none, will the others do.
        let telling = readings.iter().any(|reading| !reading.histograms.is_empty());
        let whole = |reading: &Reading| !telling || !reading.histograms.is_empty();
        let nearest = |end: f64, those: &dyn Fn(usize) -> bool| {
            let among = readings.iter().enumerate().filter(|(place, _)| those(*place));
            let away = |reading: &Reading| (reading.moment_s() - end).abs();
            among.min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map(|(_, reading)| *reading)
        };
        // The first reading of all and the first of the window are whole too: where none before has
        // histograms, there were none yet.
        let begun = readings.iter().position(|reading| reading.asked.as_secs_f64() >= window.0);
        let before_all = |place: usize| {
            let is_whole = place == 0 || Some(place) == begun;
            is_whole && readings[..=place].iter().all(|reading| reading.histograms.is_empty())
        };
        let first = nearest(window.0, &|place| whole(readings[place]) || before_all(place))?;
        let last = nearest(window.1, &|place| whole(readings[place]))?;
        let inside = |reading: &&&Reading| first.asked <= reading.asked && reading.asked <= last.asked;
        let between = readings.iter().filter(inside).copied().collect();
        (first.asked < last.asked).then_some(Self { first, last, between })
    }

    /// Returns the totals that are lower in the reading at `now` than before. Each comes with what it was in the
    /// reading before it.
    pub(super) fn fallen(&self, now: usize) -> Vec<(Counter, f64)> {
        let after = &self.between[now].counters;
        let before = self.between[now - 1].counters.iter();
        let fell = before.filter(|(counter, before)| after.get(counter).is_some_and(|after| after < before));
        fell.map(|(counter, before)| (*counter, *before)).collect()
    }

    /// Returns by how much a total rose. One that the first reading does not have was 0 then: Prometheus' clients show
    /// a series with labels only once it has counted something.
    pub(super) fn rise(&self, counter: Counter) -> Option<f64> {
        let after = self.last.counters.get(&counter)?;
        let reported = !self.first.counters.is_empty() || !self.first.gauges.is_empty();
        let before = self.first.counters.get(&counter).copied().or(reported.then_some(0.0))?;
        Some((after - before).max(0.0))
    }

    /// Returns the times that came in it. Of a histogram that the first reading does not have, it returns all of them,
    /// as above.
    pub(super) fn times(&self, time: ServerTime) -> Option<TimeHistogram> {
        let after = self.last.histograms.get(&time)?;
        match self.first.histograms.get(&time) {
            Some(before) => histogram::difference(before, after),
            None => Some(after.clone()),
        }
    }

    /// Returns the stretch of all `spans`, from the first beginning to the last end. It is there where they are as good
    /// as the same: their ends are not far apart for so long a window.
    pub(super) fn common(spans: &[Self], window: (f64, f64)) -> Option<(f64, f64)> {
        let ends = |end: fn(&Self) -> f64| {
            let moments = || spans.iter().map(end);
            Some((moments().reduce(f64::min)?, moments().reduce(f64::max)?))
        };
        let (begins, ends) = (ends(|span| span.first.moment_s())?, ends(|span| span.last.moment_s())?);
        let apart = begins.1 - begins.0 + ends.1 - ends.0;
        (apart <= APART * (window.1 - window.0)).then_some((begins.0, ends.1))
    }
}

/// A value over the part of the window in which it is known. That part is from the first reading to the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GaugeSummary {
    /// Mean over time, straight lines between readings.
    pub mean: f64,
    /// Smallest that was read.
    pub min: f64,
    /// Largest that was read.
    pub max: f64,
    /// Value at the window's end, or at the last reading.
    pub last: f64,
    /// Seconds of the window in which it is known.
    pub covered_s: f64,
}

/// A value at moments in seconds, in their order; between them it goes straight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track(Vec<(f64, f64)>);

impl Track {
    /// `None` where there is no reading at all.
    pub(super) fn from_points(points: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let points: Vec<_> = points.collect();
        (!points.is_empty()).then_some(Self(points))
    }

    /// Returns the value of all that these follow, while all are known. `None` of none.
    pub(super) fn together(tracks: &[Self], gauge: Gauge) -> Option<Self> {
        let from = tracks.iter().map(|track| track.ends().0).reduce(f64::max)?;
        let until = tracks.iter().map(|track| track.ends().1).reduce(f64::min)?;
        let moments = tracks.iter().flat_map(|track| &track.0).map(|point| point.0);
        let mut moments: Vec<f64> = moments.filter(|at| (from..=until).contains(at)).collect();
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let all = |at: f64| Some((at, gauge.together(tracks.iter().map(|track| track.at(at)))?));
        Self::from_points(moments.into_iter().filter_map(all))
    }

    /// The first and the last moment.
    fn ends(&self) -> (f64, f64) {
        (self.0[0].0, self.0[self.0.len() - 1].0)
    }

    /// The value at a moment.
    pub(super) fn at(&self, at: f64) -> f64 {
        let next = self.0.partition_point(|point| point.0 < at);
        match (next.checked_sub(1).and_then(|before| self.0.get(before)), self.0.get(next)) {
            (Some(before), Some(after)) => before.1 + (after.1 - before.1) * (at - before.0) / (after.0 - before.0),
            (Some(known), None) | (None, Some(known)) => known.1,
            (None, None) => f64::NAN,
        }
    }

    /// Summarises the gauge over the part of a stretch in which it is known. `None` where there is no such part.
    pub(super) fn over(&self, stretch: (f64, f64)) -> Option<GaugeSummary> {
        let (first, last) = self.ends();
        let (from, until) = (stretch.0.max(first), stretch.1.min(last));
        if until < from || stretch.1 <= stretch.0 {
            return None;
        }
        let covered_s = until - from;
        let inside = self.0.iter().copied().filter(|point| from < point.0 && point.0 < until);
        let ends = [(from, self.at(from)), (until, self.at(until))];
        let points: Vec<_> = [ends[0]].into_iter().chain(inside).chain([ends[1]]).collect();
        let area = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1);
        Some(GaugeSummary {
            mean: if covered_s > 0.0 { points.windows(2).map(area).sum::<f64>() / covered_s } else { ends[0].1 },
            min: points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min),
            max: points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max),
            last: ends[1].1,
            covered_s,
        })
    }
}

/// A gauge of all pages and devices together over a run. Between readings it follows straight lines. It is their sum,
/// or their mean where values do not add up.
#[derive(Clone, Debug)]
pub struct FollowedGauge(Track);

/// A page, or a device on it.
type Part<'a> = (u16, Option<&'a str>);

impl FollowedGauge {
    /// `None` where no page reports it, or no two that do at the same time.
    pub fn new(log: &RunLog, gauge: Gauge) -> Option<Self> {
        let mut parts: BTreeMap<Part<'_>, Vec<(f64, f64)>> = BTreeMap::new();
        for reading in &log.telemetry.readings {
            for (device, value) in reported(reading, gauge) {
                parts.entry((reading.source, device)).or_default().push((reading.moment_s(), value));
            }
        }
        let tracks: Vec<Track> =
            parts.into_values().filter_map(|points| Track::from_points(points.into_iter())).collect();
        Track::together(&tracks, gauge).map(Self)
    }

    /// Returns its mean over as much of a stretch of time as is known. The stretch is in seconds since the run's zero.
    /// `None` where nothing is known.
    pub fn over(&self, stretch: (f64, f64)) -> Option<f64> {
        self.0.over(stretch).map(|known| known.mean)
    }
}

/// Returns the values that a page and its devices report of a gauge.
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

    #[test]
    fn a_value_goes_straight_from_reading_to_reading() {
        let track = Track::from_points([(0.0, 0.0), (2.0, 4.0), (4.0, 4.0)].into_iter()).unwrap();
        // The area by hand: a triangle of 1 to 2 s from 2 to 4 (3), and 4 until 3 s, over 2 s.
        assert_eq!(
            track.over((1.0, 3.0)),
            Some(GaugeSummary { mean: 3.5, min: 2.0, max: 4.0, last: 4.0, covered_s: 2.0 })
        );
        // Beyond its ends nothing is known.
        assert_eq!(
            track.over((3.0, 9.0)),
            Some(GaugeSummary { mean: 4.0, min: 4.0, max: 4.0, last: 4.0, covered_s: 1.0 })
        );
        assert_eq!(
            track.over((4.0, 6.0)),
            Some(GaugeSummary { mean: 4.0, min: 4.0, max: 4.0, last: 4.0, covered_s: 0.0 })
        );
        assert_eq!(track.over((4.5, 6.0)), None);
        assert_eq!(track.over((1.0, 1.0)), None);
        assert_eq!(Track::from_points(std::iter::empty()), None);
    }

    #[test]
    fn engines_add_up_and_shares_are_averaged() {
        let a = Track::from_points([(0.0, 1.0), (2.0, 3.0)].into_iter()).unwrap();
        let b = Track::from_points([(1.0, 10.0), (3.0, 10.0)].into_iter()).unwrap();
        // Before 1 and after 2 one of them is not known.
        let sum = Track::together(&[a.clone(), b.clone()], Gauge::Running).unwrap();
        assert_eq!(sum, Track(vec![(1.0, 12.0), (2.0, 13.0)]));
        let mean = Track::together(&[a.clone(), b], Gauge::KvUsage).unwrap();
        assert_eq!(mean, Track(vec![(1.0, 6.0), (2.0, 6.5)]));
        let later = Track::from_points([(5.0, 1.0)].into_iter()).unwrap();
        assert_eq!(Track::together(&[a, later], Gauge::Running), None);
        assert_eq!(Track::together(&[], Gauge::Running), None);
    }

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
            devices: busy.iter().enumerate().map(device).collect(),
            ..Reading::default()
        }
    }

    fn followed(readings: Vec<Reading>, gauge: Gauge) -> Option<FollowedGauge> {
        let mut log = run(10_000, Vec::new());
        log.telemetry.readings = readings;
        FollowedGauge::new(&log, gauge)
    }

    /// Read every 2 s, asked by seconds: none of them is empty.
    #[test]
    fn between_readings_it_goes_straight() {
        let readings = vec![reading(0, 1_000, 2.0, &[]), reading(0, 3_000, 6.0, &[]), reading(0, 5_000, 6.0, &[])];
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
        assert_eq!((gauge.over((0.0, 1.0)), gauge.over((2.0, 4.0)), gauge.over((5.0, 6.0))), (None, Some(16.0), None));
        let apart = vec![reading(0, 0, 1.0, &[]), reading(1, 2_000, 1.0, &[])];
        assert!(followed(apart, Gauge::Running).is_none());
        assert!(followed(Vec::new(), Gauge::Running).is_none());
    }

    /// One page of one device and one of four. The mean is over five devices, not over two pages.
    #[test]
    fn every_device_weighs_the_same() {
        let readings = vec![reading(0, 0, 0.0, &[1.0]), reading(1, 0, 0.0, &[0.5, 0.5, 0.5, 0.5])];
        assert_eq!(followed(readings, Gauge::Utilisation).unwrap().over((0.0, 1.0)), Some(0.6));
    }
}
