//! Arrivals that have a moment of their own: those of a metronome, and those delivered, beside the plan.

use serde::Serialize;

use super::law::within;
use crate::analysis::judgements::{Check, Measure, Rule, Status};
use crate::clock::Timestamp;
use crate::units::three_digits;
use crate::workload::ArrivalPattern;

/// Distance by which a beat of a plan may be off, milliseconds. Moments are whole nanoseconds of sums of floats.
const PLANNED_MS: f64 = 0.001;

/// Regularity of arrivals at a constant rate. The k-th belongs at phase + k ÷ rate. The phase is the one that the
/// median arrival has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConstantArrivals {
    /// Length of a beat, milliseconds.
    pub interval_ms: f64,
    /// Distance from the constant interval that 99 % of the arrivals do not exceed, milliseconds. Four may exceed it
    /// where that is more than 1 %.
    pub off_p99_ms: f64,
    /// The farthest is this far from its beat, milliseconds.
    pub off_max_ms: f64,
}

impl ConstantArrivals {
    /// Measures how arrivals, in order and in seconds, keep a constant interval. Absent unless `pattern` is constant
    /// and something arrived.
    pub(super) fn new(pattern: &ArrivalPattern, seconds: &[f64]) -> Option<Self> {
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
        let sentence =
            format!("planned arrivals are off the constant interval by up to {} ms; limit: 1 µs", three_digits(off));
        let statistic = "largest distance from the constant interval, ms";
        cured(within(Measure::new(Rule::PlannedArrivals, statistic), off, bar, sentence))
    }

    /// Tests that nearly all beats of a delivery were kept. Each may be off by a tenth of a beat, or by 1 ms where that
    /// is more.
    pub(super) fn delivered_check(&self) -> Check {
        let (off, bar) = (self.off_p99_ms, (0.1 * self.interval_ms).max(1.0));
        let sentence = format!(
            "delivered arrivals are off the constant interval by up to {} ms; limit: {} ms",
            three_digits(off),
            three_digits(bar)
        );
        delivered("p99 distance from the constant interval, ms", off, bar, sentence)
    }
}

fn delivered(statistic: &'static str, value: f64, critical: f64, sentence: String) -> Check {
    within(Measure::new(Rule::DeliveredArrivals, statistic), value, critical, sentence)
}

/// A planned metronome has no seed to blame.
pub(super) fn cured(check: Check) -> Check {
    if check.rule == Rule::PlannedArrivals && check.outcome == Status::Missed {
        let cure = "run this workload again: the plan in the log is incomplete or another's".to_owned();
        return Check { cure, ..check };
    }
    check
}

/// Returns the value that 99 % of the values do not exceed. Four may exceed it where that is more than 1 %. A single
/// host stall may touch that many, and says nothing about the rest. Absent for four and fewer.
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

/// Fewest requests of which a tenth says something.
const FEWEST: usize = 100;

/// The first and the last so-many-th part of the requests are compared.
const TENTH: usize = 10;

/// Delivered arrivals against the plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalShift {
    /// Mean planned gap, milliseconds.
    pub mean_gap_ms: f64,
    /// Difference from the planned gap that 99 % of the gaps do not exceed, milliseconds. It counts shorter and longer
    /// ones alike. Four may exceed it where that is more than 1 %.
    pub gap_shift_p99_ms: f64,
    /// Growth of the delay from the first to the last tenth of the requests, milliseconds. The delay of a tenth is the
    /// median of how much later than planned its requests left. A generator that goes on from a late moment, as if it
    /// had been the planned one, falls behind for ever.
    pub growth_ms: f64,
}

impl ArrivalShift {
    /// Measures the shift of (planned, delivered) moments, sorted into the order of the plan. Absent for fewer than
    /// 100.
    pub fn from_moments(moments: &[(Timestamp, Timestamp)]) -> Option<Self> {
        if moments.len() < FEWEST {
            return None;
        }
        let mut ms: Vec<(f64, f64)> =
            moments.iter().map(|(planned, delivered)| (millis(*planned), millis(*delivered))).collect();
        ms.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let late: Vec<f64> = ms.iter().map(|(planned, delivered)| delivered - planned).collect();
        let shifts: Vec<f64> = late.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let tenth = late.len() / TENTH;
        let (first, last) = (ms.first()?.0, ms.last()?.0);
        Some(Self {
            mean_gap_ms: (last - first) / (ms.len() - 1) as f64,
            gap_shift_p99_ms: nearly_all(&shifts)?,
            growth_ms: median(late.get(late.len() - tenth..)?)? - median(late.get(..tenth)?)?,
        })
    }

    /// Tests the growth of the delay and the shift of the gaps. The delay may not grow by a whole mean gap, for then
    /// requests are being forfeited. No more than 1 % of the gaps may be off by a tenth of the mean one. 1 ms is
    /// allowed in either case.
    pub(super) fn checks(&self) -> [Check; 2] {
        let growth_bar = self.mean_gap_ms.max(1.0);
        let growth = format!(
            "the delay behind the plan grew by {} ms from the first tenth of the requests to the last; limit: {} ms",
            three_digits(self.growth_ms),
            three_digits(growth_bar)
        );
        let shift_bar = (0.1 * self.mean_gap_ms).max(1.0);
        let shift = format!(
            "inter-arrival times are off by up to {} ms; limit: {} ms",
            three_digits(self.gap_shift_p99_ms),
            three_digits(shift_bar)
        );
        [
            // A delivery that begins late and catches up does no such harm.
            delivered("growth of the delay behind the plan, ms", self.growth_ms.max(0.0), growth_bar, growth),
            delivered("p99 error of the inter-arrival times, ms", self.gap_shift_p99_ms, shift_bar, shift),
        ]
    }
}

fn millis(moment: Timestamp) -> f64 {
    moment.as_secs_f64() * 1e3
}
