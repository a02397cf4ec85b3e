//! Follows a value from reading to reading.

use serde::Serialize;

use crate::record::Gauge;

/// A value over that part of the window in which it is known: from the first reading to the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GaugeSummary {
    /// Mean over time, straight lines between readings.
    pub mean: f64,
    /// Largest that was read.
    pub max: f64,
    /// At the window's end, or at the last reading.
    pub last: f64,
    /// Seconds of the window in which it is known.
    pub covered_s: f64,
}

/// A value at moments in seconds, in their order; between them it goes straight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track(Vec<(f64, f64)>);

impl Track {
    /// `None` where there is no reading at all.
    pub(super) fn of(points: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let points: Vec<_> = points.collect();
        (!points.is_empty()).then_some(Self(points))
    }

    /// The value of all that these follow, for as long as all of them are known; `None` of none.
    pub(super) fn together(tracks: &[Self], gauge: Gauge) -> Option<Self> {
        let from = tracks.iter().map(|track| track.ends().0).reduce(f64::max)?;
        let until = tracks.iter().map(|track| track.ends().1).reduce(f64::min)?;
        let moments = tracks.iter().flat_map(|track| &track.0).map(|point| point.0);
        let mut moments: Vec<f64> = moments.filter(|at| (from..=until).contains(at)).collect();
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let all = |at: f64| Some((at, gauge.together(tracks.iter().map(|track| track.at(at)))?));
        Self::of(moments.into_iter().filter_map(all))
    }

    /// The first and the last moment.
    fn ends(&self) -> (f64, f64) {
        (self.0[0].0, self.0[self.0.len() - 1].0)
    }

    /// The value at a moment.
    pub(super) fn at(&self, at: f64) -> f64 {
        let next = self.0.partition_point(|point| point.0 < at);
        match (next.checked_sub(1).and_then(|before| self.0.get(before)), self.0.get(next)) {
            (Some(before), Some(after)) => {
                before.1 + (after.1 - before.1) * (at - before.0) / (after.0 - before.0)
            }
            (Some(known), None) | (None, Some(known)) => known.1,
            (None, None) => f64::NAN,
        }
    }

    /// What it was in that part of a stretch of time in which it is known; `None` of none.
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
            mean: if covered_s > 0.0 {
                points.windows(2).map(area).sum::<f64>() / covered_s
            } else {
                ends[0].1
            },
            max: points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max),
            last: ends[1].1,
            covered_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_goes_straight_from_reading_to_reading() {
        let track = Track::of([(0.0, 0.0), (2.0, 4.0), (4.0, 4.0)].into_iter()).unwrap();
        // The area by hand: a triangle of 1 to 2 s from 2 to 4 (3), and 4 until 3 s, over 2 s.
        assert_eq!(
            track.over((1.0, 3.0)),
            Some(GaugeSummary { mean: 3.5, max: 4.0, last: 4.0, covered_s: 2.0 })
        );
        // Beyond its ends nothing is known.
        assert_eq!(
            track.over((3.0, 9.0)),
            Some(GaugeSummary { mean: 4.0, max: 4.0, last: 4.0, covered_s: 1.0 })
        );
        assert_eq!(
            track.over((4.0, 6.0)),
            Some(GaugeSummary { mean: 4.0, max: 4.0, last: 4.0, covered_s: 0.0 })
        );
        assert_eq!(track.over((4.5, 6.0)), None);
        assert_eq!(track.over((1.0, 1.0)), None);
        assert_eq!(Track::of(std::iter::empty()), None);
    }

    #[test]
    fn engines_add_up_and_shares_are_averaged() {
        let a = Track::of([(0.0, 1.0), (2.0, 3.0)].into_iter()).unwrap();
        let b = Track::of([(1.0, 10.0), (3.0, 10.0)].into_iter()).unwrap();
        // Before 1 and after 2 one of them is not known.
        let sum = Track::together(&[a.clone(), b.clone()], Gauge::Running).unwrap();
        assert_eq!(sum, Track(vec![(1.0, 12.0), (2.0, 13.0)]));
        let mean = Track::together(&[a.clone(), b], Gauge::KvUsage).unwrap();
        assert_eq!(mean, Track(vec![(1.0, 6.0), (2.0, 6.5)]));
        let later = Track::of([(5.0, 1.0)].into_iter()).unwrap();
        assert_eq!(Track::together(&[a, later], Gauge::Running), None);
        assert_eq!(Track::together(&[], Gauge::Running), None);
    }
}
