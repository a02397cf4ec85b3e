//! Live quantiles of a latency, over the last seconds and over the window so far.

use std::time::Duration;

use hdrhistogram::{Counter, Histogram};

use super::RECENT_S;
use super::snapshot::{LiveLatency, Spread};
use crate::record::Phase;

/// Digits that hold: a figure is off by 1 % at most, and ten histograms are merged in microseconds.
const DIGITS: u8 = 2;
/// The longest time told apart from longer ones, microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// A latency as it is seen while the run is on.
#[derive(Debug)]
pub(super) struct Times {
    /// A ring of seconds.
    recent: Vec<InSecond>,
    /// Requests of the window alone, as in the report.
    window: Histogram<u64>,
    window_sum_us: u128,
    /// Where those of the last seconds are put together.
    merged: Histogram<u32>,
}

#[derive(Debug)]
struct InSecond {
    second: u64,
    times: Histogram<u32>,
    sum_us: u128,
}

fn empty<C: Counter>() -> Histogram<C> {
    Histogram::new_with_bounds(1, LONGEST_US, DIGITS)
        .unwrap_or_else(|_| unreachable!("two digits up to an hour are allowed"))
}

impl Default for Times {
    fn default() -> Self {
        let recent = (0..RECENT_S).map(|second| InSecond { second, times: empty(), sum_us: 0 });
        Self { recent: recent.collect(), window: empty(), window_sum_us: 0, merged: empty() }
    }
}

impl Times {
    /// `count` times of this length were seen in `second`.
    pub(super) fn record(&mut self, second: u64, time: Duration, count: u64, phase: Phase) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let sum = u128::from(micros) * u128::from(count);
        let place = &mut self.recent[(second % RECENT_S) as usize];
        if place.second != second {
            place.second = second;
            place.sum_us = 0;
            place.times.reset();
        }
        place.times.saturating_record_n(micros, u32::try_from(count).unwrap_or(u32::MAX));
        place.sum_us += sum;
        if phase == Phase::Measured {
            self.window.saturating_record_n(micros, count);
            self.window_sum_us += sum;
        }
    }

    /// The 99th percentile of those of one second; `None` where there was none.
    pub(super) fn p99_in(&self, second: u64) -> Option<Duration> {
        let place = &self.recent[(second % RECENT_S) as usize];
        let known = place.second == second && !place.times.is_empty();
        known.then(|| Duration::from_micros(place.times.value_at_quantile(0.99)))
    }

    /// What was seen up to `second`.
    pub(super) fn seen_in(&mut self, second: u64) -> LiveLatency {
        self.merged.reset();
        let mut sum_us = 0;
        for place in &self.recent {
            if place.second + RECENT_S > second && !place.times.is_empty() {
                // All have the same bounds.
                let _ = self.merged.add(&place.times);
                sum_us += place.sum_us;
            }
        }
        LiveLatency { recent: spread(&self.merged, sum_us), window: spread(&self.window, self.window_sum_us) }
    }
}

fn spread<C: Counter>(times: &Histogram<C>, sum_us: u128) -> Option<Spread> {
    let n = times.len();
    if n == 0 {
        return None;
    }
    let [p50, p90, p95, p99, p999] = quantiles(times, [0.5, 0.9, 0.95, 0.99, 0.999]);
    let mean = Duration::from_micros(u64::try_from(sum_us / u128::from(n)).unwrap_or(u64::MAX));
    let [min, max] = [times.min(), times.max()].map(Duration::from_micros);
    Some(Spread { n, mean, min, p50, p90, p95, p99, p999, max })
}

/// The smallest times that at least these shares of the samples, in ascending order, do not exceed: all of them in one pass.
fn quantiles<C: Counter, const N: usize>(times: &Histogram<C>, shares: [f64; N]) -> [Duration; N] {
    let n = times.len() as f64;
    let mut found = [Duration::ZERO; N];
    let mut next = 0;
    let mut below = 0;
    for bucket in times.iter_recorded() {
        below += bucket.count_at_value().as_u64();
        while next < N && below as f64 >= shares[next] * n {
            found[next] = Duration::from_micros(bucket.value_iterated_to());
            next += 1;
        }
    }
    found
}
