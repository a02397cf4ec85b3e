//! How delivered arrivals differ from the plan, request by request.

use serde::Serialize;

use super::beats::{median, nearly_all};
use super::judged::Reading;
use crate::analysis::verdict::check::{Check, Rule};
use crate::clock::Timestamp;
use crate::units::three_digits;

/// Fewest requests of which a tenth says something.
const FEWEST: usize = 100;

/// The first and the last so-many-th part of the requests are compared.
const TENTH: usize = 10;

/// Delivered arrivals beside the plan: what the delivery did to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrivalShift {
    /// Mean planned gap, milliseconds.
    pub mean_gap_ms: f64,
    /// 99 % of the gaps, or all but four where that is more, were at most this much shorter or longer than planned,
    /// milliseconds.
    pub gap_shift_p99_ms: f64,
    /// How much later than planned the requests of the last tenth left than those of the first, milliseconds,
    /// medians: a generator that goes on from a late moment, as if it had been the planned one, falls behind for ever.
    pub growth_ms: f64,
}

impl ArrivalShift {
    /// Of (planned, delivered) moments, which are put in the order of the plan; absent for fewer than 100.
    pub fn of(moments: &[(Timestamp, Timestamp)]) -> Option<Self> {
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

    /// The tests: the delay may not grow by a whole mean gap (then requests are being forfeited), nor may more
    /// than 1 % of the gaps be off by a tenth of the mean one; 1 ms is allowed in either case.
    pub(super) fn checks(&self) -> [Check; 2] {
        let growth_bar = self.mean_gap_ms.max(1.0);
        let growth = format!(
            "the last tenth of the requests left {} ms later behind the plan than the first, the bar is {} ms",
            three_digits(self.growth_ms),
            three_digits(growth_bar)
        );
        let shift_bar = (0.1 * self.mean_gap_ms).max(1.0);
        let shift = format!(
            "nearly all gaps are at most {} ms shorter or longer than planned, the bar is {} ms",
            three_digits(self.gap_shift_p99_ms),
            three_digits(shift_bar)
        );
        [
            // A delivery that begins late and catches up does no such harm.
            Reading::at_most(self.growth_ms.max(0.0), growth_bar, growth)
                .check(Rule::DeliveredArrivals, "growth of the delay behind the plan, ms"),
            Reading::at_most(self.gap_shift_p99_ms, shift_bar, shift)
                .check(Rule::DeliveredArrivals, "p99 shift of a gap, ms"),
        ]
    }
}

fn millis(moment: Timestamp) -> f64 {
    moment.as_secs_f64() * 1e3
}
