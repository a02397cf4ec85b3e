//! How long a sequence remembers: its correlation time, by the means of batches of it.

use std::borrow::Cow;

use super::ranks::ranks;

/// Fewest batches whose means tell a variance and a correlation.
const FEWEST: usize = 16;
/// Memory that no batches can tell from one that never ends.
const MOST_ALIKE: f64 = 0.999;
/// Most that neighbours can differ before chance alone explains it.
const LEAST_ALIKE: f64 = -0.5;

/// The correlation time of a sequence. So many values, one after the other, tell as much of a mean as one independent
/// value. 1 where values are independent.
///
/// The means of batches of 1, 2, 4, … values, as long as there are 16 of them, each tell it: with m values in
/// a batch, v their variance times m as a share of the variance of the values, and r the correlation of each
/// with the next, it is `v·(1 + r)/(1 − r)`, as for an autoregressive sequence. Batches that are too short
/// see too little of it, those that are too few see it badly, and none sees more than the sequence holds: so
/// the longest counts. (Batch means: Law, *Simulation Modeling and Analysis*, section 9.5.3; their
/// correlation: Alexopoulos, Goldsman, Mokashi and Wilson, *Automated estimation of extreme steady-state
/// quantiles via the maximum transformation*, ACM TOMACS 27:4, 2017.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The correlation time, in values of the sequence; at least 1.
    pub correlation_time: f64,
    /// Correlation time where a sequence nearly full of memory counts as a reflected random walk. It is
    /// `v·(1 + r)²/(1 − r)`. A queue close to its limit is one, with a correlation time of 4/(1 − r), twice that of an
    /// autoregressive sequence of equal r. A window is judged by this one, for it sees the memory in the single steps,
    /// also where the window is too short to show it.
    pub cautious_time: f64,
}

impl Memory {
    /// Whether so many values show any.
    pub const fn is_seen(values: usize) -> bool {
        values >= FEWEST
    }

    /// Memory of `values` in their order; `None` for fewer than 16 of them. Where all are alike there is none to be
    /// seen.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if !Self::is_seen(values.len()) {
            return None;
        }
        let mut memory = Self { correlation_time: 1.0, cautious_time: 1.0 };
        let mut means = Cow::Borrowed(values);
        let mut variance_of_one = None;
        let mut size = 1.0;
        while means.len() >= FEWEST {
            let (variance, correlation) = spread(&means);
            let of_one = *variance_of_one.get_or_insert(variance);
            if of_one <= 0.0 {
                break;
            }
            // A correlation of few values is too low on average (Kendall, *Biometrika* 41, 1954, 403–404).
            let known_too_low = (1.0 + 4.0 * correlation.max(0.0)) / means.len() as f64;
            let r = (correlation + known_too_low).clamp(LEAST_ALIKE, MOST_ALIKE);
            let time = size * variance / of_one * (1.0 + r) / (1.0 - r);
            memory.correlation_time = memory.correlation_time.max(time);
            memory.cautious_time = memory.cautious_time.max(time).max(time * (1.0 + r));
            means = Cow::Owned(pairs(&means));
            size *= 2.0;
        }
        Some(memory)
    }

    /// Memory of the ranks of `values`, which no few large ones decide.
    pub fn of_ranks(values: &[f64]) -> Option<Self> {
        Self::from_values(&ranks(values))
    }

    /// Returns the memory with that of something that holds of some values. It is 1 where it does and 0 where not, and
    /// may be remembered longer than the values themselves.
    #[must_use]
    pub fn and_of(self, holds: &[f64]) -> Self {
        let longer = Self::from_values(holds).map_or(1.0, |memory| memory.correlation_time);
        Self { correlation_time: self.correlation_time.max(longer), cautious_time: self.cautious_time.max(longer) }
    }
}

/// Returns the variance of values with n − 1, and their lag-1 correlation. Both are 0 where all values are alike.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (squares / (n - 1.0), if squares > 0.0 { products / squares } else { 0.0 })
}

/// Returns the means of neighbours, two by two. An odd one is left out at the beginning.
fn pairs(values: &[f64]) -> Vec<f64> {
    let (_, even) = values.split_at(values.len() % 2);
    even.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    /// An autoregressive sequence of this memory, standard normal.
    fn autoregressive(seed: u64, n: usize, memory: f64) -> Vec<f64> {
        let mut stream = RandomStream::named(seed, "memory");
        let step = libm::sqrt(1.0 - memory * memory);
        let mut last = stream.normal();
        (0..n)
            .map(|_| {
                last = memory * last + step * stream.normal();
                last
            })
            .collect()
    }

    /// The correlation time of an autoregressive sequence is (1 + r)/(1 − r).
    #[test]
    fn the_correlation_time_is_that_of_the_sequence() {
        for (memory, least, most) in [(0.0, 1.0, 1.6), (0.5, 2.7, 4.5), (0.9, 17.0, 29.0)] {
            let mut times: Vec<f64> = (0..40)
                .map(|seed| Memory::from_values(&autoregressive(seed, 4_000, memory)).unwrap().correlation_time)
                .collect();
            times.sort_by(f64::total_cmp);
            assert!((least..most).contains(&times[20]), "{memory}: {}", times[20]);
        }
    }

    #[test]
    fn memory_behind_noise_is_seen() {
        let mut noise = RandomStream::named(1, "noise");
        let values: Vec<f64> =
            autoregressive(1, 16_000, 0.99).into_iter().map(|slow| 0.5 * slow + noise.normal()).collect();
        // A fifth of the variance has a correlation time of 199.
        let time = Memory::from_values(&values).unwrap().correlation_time;
        assert!((20.0..90.0).contains(&time), "{time}");
    }

    #[test]
    fn few_values_say_nothing_and_equal_ones_do_not_remember() {
        assert_eq!(Memory::from_values(&[1.0; 15]), None);
        assert_eq!(Memory::from_values(&[1.0; 16]), Some(Memory { correlation_time: 1.0, cautious_time: 1.0 }));
    }

    #[test]
    fn ranks_do_not_see_the_size() {
        let values = autoregressive(3, 500, 0.8);
        let grown: Vec<f64> = values.iter().map(|value| libm::exp(9.0 * value)).collect();
        assert_eq!(Memory::of_ranks(&values), Memory::of_ranks(&grown));
    }
}
