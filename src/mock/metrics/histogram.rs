//! A Prometheus histogram with vLLM's bucket bounds.

/// Upper bounds of the buckets of token counts (`build_1_2_5_buckets` of a context of 2,000 to 4,999 tokens).
pub(super) const TOKENS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0];
/// Tokens per step.
pub(super) const ITERATION: &[f64] =
    &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16_384.0];
/// Choices per request.
pub(super) const CHOICES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];
/// Time to the first token, seconds.
pub(super) const TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
/// Time between tokens, seconds.
pub(super) const GAP: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Time of a request or of one of its phases, seconds.
pub(super) const REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];

/// Counts of values by size, with their sum.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// Values of each bucket alone; the last one holds those beyond all bounds.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub(super) fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += 1;
        self.sum += value;
    }

    /// (upper bound, values up to it) of every bucket; the last bound is infinite.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((bound, *total))
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_bucket() {
        let mut histogram = Histogram::new(CHOICES);
        for value in [1.0, 1.5, 2.0, 20.0, 21.0] {
            histogram.observe(value);
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        let expected = [(1.0, 1), (2.0, 3), (5.0, 3), (10.0, 3), (20.0, 4), (f64::INFINITY, 5)];
        assert_eq!(cumulative, expected);
        assert_eq!((histogram.count(), histogram.sum()), (5, 45.5));
    }
}
