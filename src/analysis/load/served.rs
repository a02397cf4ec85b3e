//! What ended in the window beside what was offered, and what would have ended had answers stayed as quick as at first.

use std::time::Duration;

use serde::Serialize;

use crate::analysis::requests::{LoadForm, Observed};
use crate::clock::Timestamp;
use crate::record::RequestRecord;

/// Share of requests that show how long answers take while the load is new. They are one in so many of all, and at
/// least [`FEWEST_NEW`].
const NEW: usize = 10;
/// Fewest requests that show how long answers take while the load is new.
const FEWEST_NEW: usize = 10;
/// A server that keeps up takes no longer than this many times as long. Late in 30 s at 80 and 90 % of the
/// limit of an A10G and an L40S answers take 0.6 to 2.2 times as long, 1.1 times on average.
pub(super) const SLOWER: f64 = 1.5;
/// Share of what was offered below which an end is not a delay.
pub(crate) const LEAST_SERVED: f64 = 0.75;
/// Φ⁻¹(0.99): how surely fewer must end than would have.
const SURELY: f64 = 2.326_347_874_040_841;

/// Requests that were offered in the window, and those that ended in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Served {
    /// Requests scheduled in the window.
    pub(crate) offered: u64,
    /// Requests of every phase that ended in it.
    pub(crate) ended: u64,
    /// Mean time of the first tenth of all requests, seconds.
    pub(crate) first_s: f64,
    /// Requests that would have ended in it, had each taken 1.5 times as long. That is 1.5 times the stay of the first
    /// requests, and longer where its answer is longer.
    pub(crate) expected: u64,
}

impl Served {
    /// Returns the requests that ended beside those that would have. `None` for a closed loop, which offers what ends,
    /// and for a load that is over before an answer could be.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let records = &observed.log.records;
        if LoadForm::from_workload(&observed.log.header.workload).is_closed() {
            return None;
        }
        let (first, tokens) = first_stay(observed)?;
        // A longer answer takes so much longer.
        let usual_end = |record: &RequestRecord| {
            record.scheduled.after(first.mul_f64(SLOWER * (record.output_tokens as f64 / tokens).max(1.0)))
        };
        let counted = |end: &dyn Fn(&RequestRecord) -> Timestamp| {
            records.iter().filter(|record| observed.contains(end(record))).count() as u64
        };
        let served = Self {
            offered: observed.due(),
            ended: counted(&|record| record.ended),
            first_s: first.as_secs_f64(),
            expected: counted(&usual_end),
        };
        (served.expected > 0).then_some(served)
    }

    /// The share of what was offered that ended.
    pub(crate) fn share(&self) -> f64 {
        self.ended as f64 / self.offered.max(1) as f64
    }

    /// Whether fewer ended than would have, by more than chance. Counts of arrivals vary by their root.
    pub(crate) fn is_surely_short(&self) -> bool {
        let (ended, expected) = (self.ended as f64, self.expected as f64);
        expected - ended > SURELY * libm::sqrt(expected + ended)
    }
}

/// Returns the mean stay of the first requests, and mean tokens of their answers. The tokens are at least 1. `None`
/// where nothing was scheduled before the window's end.
pub(super) fn first_stay(observed: &Observed<'_>) -> Option<(Duration, f64)> {
    let records = observed.log.records.iter().filter(|record| record.scheduled < observed.end);
    let stay = |record: &RequestRecord| record.ended.since(record.dispatched);
    let mut stays: Vec<_> = records.map(|record| (record.scheduled, stay(&record), record.output_tokens)).collect();
    stays.sort_unstable();
    stays.truncate(FEWEST_NEW.max(stays.len() / NEW));
    let tokens = stays.iter().map(|stay| stay.2).sum::<u64>() as f64 / stays.len() as f64;
    let all = stays.iter().map(|stay| stay.1).sum::<Duration>();
    (!stays.is_empty()).then(|| (all / stays.len() as u32, tokens.max(1.0)))
}
