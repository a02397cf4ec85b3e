//! Counts how long bytes lay in the kernel before they were read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::record::{Delays, StreamReads};

/// Bins per doubling: a quantile is at most 1/16 too high.
const BINS: usize = 16;
/// Doublings above the first bins: up to 2⁴⁰ ns, 18 minutes.
const DOUBLINGS: usize = 37;

/// A histogram that many threads update without waiting for one another.
pub(crate) struct ReadDelays {
    bins: Box<[AtomicU64]>,
    max: AtomicU64,
    /// Reads over HTTP/2, those with data of several streams, and the most streams.
    streams: [AtomicU64; 3],
}

impl Default for ReadDelays {
    fn default() -> Self {
        let bins = (0..BINS * DOUBLINGS).map(|_| AtomicU64::new(0)).collect();
        Self { bins, max: AtomicU64::new(0), streams: Default::default() }
    }
}

impl ReadDelays {
    /// Adds one delay.
    pub(crate) fn add(&self, delay: Duration) {
        let nanos = delay.as_nanos() as u64;
        self.bins[bin(nanos)].fetch_add(1, Relaxed);
        // Rarely exceeded, so that most threads only read it.
        if nanos > self.max.load(Relaxed) {
            self.max.fetch_max(nanos, Relaxed);
        }
    }

    /// Adds a read of HTTP/2 that brought data of so many streams, and its delay.
    pub(crate) fn add_read(&self, streams: u32, delay: Option<Duration>) {
        if let Some(delay) = delay {
            self.add(delay);
        }
        let [reads, shared, most] = &self.streams;
        reads.fetch_add(u64::from(streams > 0), Relaxed);
        shared.fetch_add(u64::from(streams > 1), Relaxed);
        most.fetch_max(streams.into(), Relaxed);
    }

    /// The reads of HTTP/2 so far; `None` without any.
    pub(crate) fn stream_reads(&self) -> Option<StreamReads> {
        let [reads, shared, most_streams] = self.streams.each_ref().map(|count| count.load(Relaxed));
        (reads > 0).then_some(StreamReads { reads, shared, most_streams })
    }

    /// The delays so far; `None` without any.
    pub(crate) fn so_far(&self) -> Option<Delays> {
        let counts: Vec<u64> = self.bins.iter().map(|bin| bin.load(Relaxed)).collect();
        let n: u64 = counts.iter().sum();
        let max_ns = self.max.load(Relaxed);
        // Nearest rank: the smallest value with at least this share of all at or below it.
        let quantile = |share: f64| {
            let rank = ((n as f64 * share).ceil() as u64).max(1);
            let mut seen = 0;
            let bin = counts.iter().position(|&count| {
                seen += count;
                seen >= rank
            });
            bin.map_or(max_ns, |bin| upper(bin).min(max_ns))
        };
        (n > 0).then(|| Delays { n, p50_ns: quantile(0.5), p99_ns: quantile(0.99), max_ns })
    }
}

/// Returns the bin of a value. It is given by the value's four bits after the first, and the number of doublings below.
fn bin(nanos: u64) -> usize {
    let doubling = nanos.checked_ilog2().unwrap_or(0).saturating_sub(BINS.ilog2()) as usize;
    (doubling * BINS + (nanos >> doubling) as usize).min(BINS * DOUBLINGS - 1)
}

/// The largest value of a bin.
fn upper(bin: usize) -> u64 {
    let doubling = (bin / BINS).saturating_sub(1);
    (((bin - doubling * BINS + 1) as u64) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bin_hardly_wider_than_itself() {
        for nanos in (0..5_000).chain((1..1_000).map(|k| k * 1_000_003_007)) {
            let top = upper(bin(nanos));
            assert!(top >= nanos && top - nanos <= nanos / 16, "{nanos} is counted as {top}");
        }
        assert_eq!(bin(u64::MAX), BINS * DOUBLINGS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_values_added() {
        let delays = ReadDelays::default();
        assert_eq!(delays.so_far(), None);
        for micros in 1..=1_000 {
            delays.add(Duration::from_micros(micros));
        }
        let found = delays.so_far().unwrap();
        assert_eq!((found.n, found.max_ns), (1_000, 1_000_000));
        for (nanos, exact) in [(found.p50_ns, 500_000), (found.p99_ns, 990_000)] {
            assert!((exact..=exact + exact / 16).contains(&nanos), "{nanos} for {exact}");
        }
    }
}
