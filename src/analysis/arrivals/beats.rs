//! How a sequence keeps the beats of a metronome.

use serde::Serialize;

use super::judged::Reading;
use crate::analysis::verdict::check::{Check, CheckOutcome, Rule};
use crate::units::three_digits;
use crate::workload::ArrivalPattern;

/// How far a beat of a plan may be off, milliseconds: moments are whole nanoseconds of sums of floats.
const PLANNED_MS: f64 = 0.001;

/// How arrivals at a constant rate keep their beats: the k-th belongs at phase + k ÷ rate, the phase being the one that
/// the median arrival has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConstantArrivals {
    /// Length of a beat, milliseconds.
    pub interval_ms: f64,
    /// 99 % of the arrivals, or all but four where that is more, are at most this far from their beats, milliseconds.
    pub off_p99_ms: f64,
    /// The farthest is this far from its beat, milliseconds.
    pub off_max_ms: f64,
}

impl ConstantArrivals {
    /// Of arrivals in order, seconds; absent unless `pattern` is constant and something arrived.
    pub(super) fn of(pattern: &ArrivalPattern, seconds: &[f64]) -> Option<Self> {
        let ArrivalPattern::Constant { rate_per_s } = *pattern else { return None };
        let late = |(k, moment): (usize, &f64)| (moment - (k + 1) as f64 / rate_per_s) * 1e3;
        let late: Vec<f64> = seconds.iter().enumerate().map(late).collect();
        let phase = median(&late)?;
        let off: Vec<f64> = late.into_iter().map(|late| (late - phase).abs()).collect();
        Some(Self {
            interval_ms: 1e3 / rate_per_s,
            off_p99_ms: nearly_all(&off)?,
            off_max_ms: off.into_iter().max_by(f64::total_cmp)?,
        })
    }

    /// The test of a plan: every beat exact.
    pub(super) fn planned_check(&self) -> Check {
        let (off, bar) = (self.off_max_ms, PLANNED_MS);
        let sentence = format!(
            "the planned arrival farthest from its beat is {} ms off, the bar is 1 µs",
            three_digits(off)
        );
        let reading = Reading::at_most(off, bar, sentence);
        cured(reading.check(Rule::PlannedArrivals, "largest distance from the beat, ms"))
    }

    /// The test of a delivery: nearly all beats kept to a tenth of a beat, or 1 ms where that is more.
    pub(super) fn delivered_check(&self) -> Check {
        let (off, bar) = (self.off_p99_ms, (0.1 * self.interval_ms).max(1.0));
        let sentence = format!(
            "nearly all delivered arrivals are at most {} ms off their beats, the bar is {} ms",
            three_digits(off),
            three_digits(bar)
        );
        Reading::at_most(off, bar, sentence).check(Rule::DeliveredArrivals, "p99 distance from the beat, ms")
    }
}

/// A planned metronome has no seed to blame.
pub(super) fn cured(check: Check) -> Check {
    if check.rule == Rule::PlannedArrivals && check.outcome == CheckOutcome::Failed {
        let cure = "fly this workload again: the plan in the log is not its own, or not whole".to_owned();
        return Check { cure, ..check };
    }
    check
}

/// The value that 99 % of them do not exceed, or all but four where that is more: a single host stall
/// may touch that many, and says nothing about the rest. Absent for four and fewer.
pub(super) fn nearly_all(values: &[f64]) -> Option<f64> {
    const ONE_STANDSTILL: usize = 4;
    ranked(values, values.len().checked_sub(1 + ONE_STANDSTILL.max(values.len() / 100))?)
}

/// The median, of an even count the upper one; absent for none.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    ranked(values, values.len() / 2)
}

fn ranked(values: &[f64], rank: usize) -> Option<f64> {
    let mut values = values.to_vec();
    (rank < values.len()).then(|| *values.select_nth_unstable_by(rank, f64::total_cmp).1)
}
