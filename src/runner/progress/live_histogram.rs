//! Live quantiles of a latency, over the last seconds and over the window so far.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::snapshot::{LiveLatency, LiveSpread, RECENT_S};
use crate::record::Phase;

/// Significant digits. With two a figure is off by at most 1 %, and ten histograms are merged in microseconds.
const DIGITS: u8 = 2;
/// Longer times count as this one, an hour, in microseconds.
const LONGEST_US: u64 = 3_600_000_000;

/// A latency while the run is on. Each sample is recorded once, in the second in which it came, since this
/// cost is paid per token.
#[derive(Debug)]
pub(super) struct LiveHistogram {
    /// The last seconds, a ring.
    recent: Vec<InSecond>,
    /// Requests of the window, before the last seconds.
    window: Sampled,
}

/// The samples of one second.
#[derive(Debug)]
struct InSecond {
    second: u64,
    measured: Sampled,
    /// Requests outside the window.
    other: Sampled,
}

#[derive(Debug)]
struct Sampled {
    times: Histogram<u64>,
    sum_us: u64,
}

impl Default for Sampled {
    fn default() -> Self {
        let times = Histogram::new_with_bounds(1, LONGEST_US, DIGITS)
            .unwrap_or_else(|_| unreachable!("two digits up to an hour are allowed"));
        Self { times, sum_us: 0 }
    }
}

impl Sampled {
    fn add(&mut self, other: &Self) {
        if !other.times.is_empty() {
            // Both have the same bounds.
            let _ = self.times.add(&other.times);
            self.sum_us += other.sum_us;
        }
    }

    fn clear(&mut self) {
        self.times.reset();
        self.sum_us = 0;
    }
}

impl Default for LiveHistogram {
    fn default() -> Self {
        let empty = |second| InSecond { second, measured: Sampled::default(), other: Sampled::default() };
        Self { recent: (0..RECENT_S).map(empty).collect(), window: Sampled::default() }
    }
}

impl LiveHistogram {
    /// Records `count` samples of `nanos` each, seen in `second`.
    pub(super) fn record(&mut self, second: u64, nanos: u64, count: u32, phase: Phase) {
        let place = &mut self.recent[(second % RECENT_S) as usize];
        if place.second != second {
            self.window.add(&place.measured);
            place.measured.clear();
            place.other.clear();
            place.second = second;
        }
        let sampled = if phase == Phase::Measured { &mut place.measured } else { &mut place.other };
        let micros = nanos / 1_000;
        sampled.times.saturating_record_n(micros, u64::from(count));
        sampled.sum_us += micros * u64::from(count);
    }

    /// Median and 99th percentile of one second; `None` without samples.
    pub(super) fn middle_and_end(&self, second: u64) -> Option<(Duration, Duration)> {
        let place = &self.recent[(second % RECENT_S) as usize];
        let mut all = Sampled::default();
        if place.second == second {
            all.add(&place.measured);
            all.add(&place.other);
        }
        spread(&all).map(|spread| (spread.p50, spread.p99))
    }

    /// Returns the latencies that were seen up to `second`.
    pub(super) fn seen_in(&self, second: u64) -> LiveLatency {
        let (mut recent, mut window) = (Sampled::default(), Sampled::default());
        window.add(&self.window);
        for place in &self.recent {
            window.add(&place.measured);
            if place.second + RECENT_S > second {
                recent.add(&place.measured);
                recent.add(&place.other);
            }
        }
        LiveLatency { recent: spread(&recent), window: spread(&window) }
    }
}

fn spread(sampled: &Sampled) -> Option<LiveSpread> {
    let Sampled { times, sum_us } = sampled;
    let n = times.len();
    if n == 0 {
        return None;
    }
    let [p50, p90, p95, p99, p999] = quantiles(times, [0.5, 0.9, 0.95, 0.99, 0.999]);
    let [mean, min, max] = [sum_us / n, times.min(), times.max()].map(Duration::from_micros);
    Some(LiveSpread { n, mean, min, p50, p90, p95, p99, p999, max })
}

/// Returns the quantiles for these shares, in one pass. They are the smallest values that at least these shares of the
/// sorted samples do not exceed.
fn quantiles<const N: usize>(times: &Histogram<u64>, shares: [f64; N]) -> [Duration; N] {
    let n = times.len() as f64;
    let mut found = [Duration::ZERO; N];
    let mut next = 0;
    let mut below = 0;
    for bucket in times.iter_recorded() {
        below += bucket.count_at_value();
        while next < N && below as f64 >= shares[next] * n {
            found[next] = Duration::from_micros(bucket.value_iterated_to());
            next += 1;
        }
    }
    found
}
