//! The clock of a generator's machine beside other clocks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bounds of the time of another clock − the wall-clock time of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockOffset {
    /// The other clock.
    pub to: ClockReference,
    /// The least that it can be, nanoseconds.
    pub low_ns: i64,
    /// The most that it can be, nanoseconds.
    pub high_ns: i64,
}

/// A clock that several generators can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockReference {
    /// The clock of shard 1, by the files of a common start.
    FirstShard,
    /// The clock of the target, by the `Date` of its answers.
    Target,
    /// Coordinated Universal Time, by NTP or PTP.
    Utc,
}

impl ClockOffset {
    /// Returns how far apart the two clocks are at least.
    pub fn least(&self) -> Duration {
        Duration::from_nanos(self.low_ns.max(self.high_ns.saturating_neg()).max(0).unsigned_abs())
    }
}

/// Returns how far apart the clocks of several machines are at most. `None` where
/// they were not all compared with one clock.
pub(in crate::record) fn skew<'a>(machines: &(impl Iterator<Item = &'a [ClockOffset]> + Clone)) -> Option<Duration> {
    let by = |reference: ClockReference| {
        let own = |offsets: &&[ClockOffset]| offsets.iter().find(|offset| offset.to == reference).copied();
        let offsets: Vec<ClockOffset> = machines.clone().map(|offsets| own(&offsets)).collect::<Option<_>>()?;
        let low = offsets.iter().map(|offset| offset.low_ns).min()?;
        let high = offsets.iter().map(|offset| offset.high_ns).max()?;
        Some(Duration::from_nanos(high.saturating_sub(low).unsigned_abs()))
    };
    [ClockReference::FirstShard, ClockReference::Target, ClockReference::Utc].into_iter().filter_map(by).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn offset(to: ClockReference, low_ns: i64, high_ns: i64) -> ClockOffset {
        ClockOffset { to, low_ns, high_ns }
    }

    #[test]
    fn clocks_are_apart_by_their_nearest_bounds_at_least() {
        let least = |low, high| offset(ClockReference::Target, low, high).least().as_nanos();
        assert_eq!([least(-5, 5), least(3, 9), least(-9, -3), least(0, 7)], [0, 3, 3, 0]);
    }

    #[test]
    fn the_skew_is_bounded_by_the_clock_that_all_were_compared_with() {
        use ClockReference::{FirstShard, Target, Utc};
        let first = [offset(FirstShard, 0, 0), offset(Target, -100, 900)];
        let second = [offset(FirstShard, -20, 30), offset(Target, -50, 950)];
        let third = [offset(Target, -40, 960)];
        let of = |machines: &[&[ClockOffset]]| skew(&machines.iter().copied()).map(|skew| skew.as_nanos());
        assert_eq!(of(&[&first, &second]), Some(50));
        assert_eq!(of(&[&first, &second, &third]), Some(1_060));
        assert_eq!(of(&[&first, &[]]), None);
        // The tightest of several: both are within 3 ns of true time.
        assert_eq!(of(&[&[first[0], offset(Utc, -2, 2)], &[second[0], offset(Utc, -3, 3)]]), Some(6));
    }
}
