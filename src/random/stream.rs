//! A stream of random numbers identified by its seed and its name.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::normal::normal_quantile;

/// Separates these streams from every other use of SHA-256. The number rises if a sampler ever changes.
const DOMAIN: &[u8] = b"skyline stream 1\0";

/// An endless stream of random numbers, fixed by a seed and a name.
///
/// Each purpose has its own name, so that draws for one purpose never move those for another.
#[derive(Clone, Debug)]
pub struct RandomStream {
    bits: ChaCha8Rng,
}

impl RandomStream {
    /// Returns the stream called `name` under `seed`. It is `ChaCha8` keyed with SHA-256(domain ‖ seed as 8
    /// little-endian bytes ‖ name).
    pub fn named(seed: u64, name: &str) -> Self {
        let key = Sha256::new().chain_update(DOMAIN).chain_update(seed.to_le_bytes()).chain_update(name);
        Self { bits: ChaCha8Rng::from_seed(key.finalize().into()) }
    }

    /// Returns the branch of the stream with this number, from its beginning. It is cheap, and independent of every
    /// other branch. Branch 0 is the stream itself.
    #[must_use]
    pub fn branch(&self, number: u64) -> Self {
        let mut bits = self.bits.clone();
        bits.set_stream(number);
        bits.set_word_pos(0);
        Self { bits }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.bits.next_u64()
    }

    /// Uniform in [0, 1): a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (0.5 / (1_u64 << 52) as f64)
    }

    /// Uniform in (0, 1), both ends excluded: an odd multiple of 2⁻⁵³.
    pub fn open_unit(&mut self) -> f64 {
        ((self.bits() >> 11) | 1) as f64 * (0.5 / (1_u64 << 52) as f64)
    }

    /// Returns a whole number from 0 to `bound` − 1, all equally likely. It is 0 when `bound` is 0.
    ///
    /// Lemire, *Fast random integer generation in an interval* (ACM TOMACS 29:1, 2019): unbiased.
    pub fn below(&mut self, bound: u64) -> u64 {
        let uneven = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= uneven {
                return (product >> 64) as u64;
            }
        }
    }

    /// Puts items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Exponential with mean 1, by the inverse of its distribution function.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// Standard normal, by the inverse of its distribution function ([`normal_quantile`]).
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.open_unit())
    }

    /// Gamma with this `shape` (above 0) and scale 1, so with mean `shape`.
    ///
    /// Marsaglia and Tsang, *A simple method for generating gamma variables* (ACM TOMS 26:3, 2000); a shape
    /// below 1 by their boost, Gamma(shape + 1) · U^(1/shape).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::exp(libm::log(self.open_unit()) / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let normal = self.normal();
            let root = 1.0 + c * normal;
            let v = root * root * root;
            let log_u = libm::log(self.open_unit());
            if v > 0.0 && log_u < 0.5 * normal * normal + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }
}

/// A choice among `n` items, each with a probability proportional to its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedChoice {
    /// Running sums of the weights.
    sums: Vec<f64>,
}

impl WeightedChoice {
    /// A choice with these weights. A weight not above zero is never chosen, unless all are: then all items are
    /// equally likely.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let running_sums = |weights: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            weights
                .scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect()
        };
        let sums = running_sums(&mut weights.into_iter().map(|weight| weight.max(0.0)));
        if sums.last().is_some_and(|&total| total > 0.0) {
            return Self { sums };
        }
        Self { sums: running_sums(&mut sums.iter().map(|_| 1.0)) }
    }

    /// The index of the chosen item; 0 when there is none. Takes one number from `stream`.
    pub fn draw(&self, stream: &mut RandomStream) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let mark = stream.unit() * total;
        let place = self.sums.partition_point(|&sum| sum <= mark);
        // Rounding can put the mark at the very top, which belongs to the last item with any weight.
        if place < self.sums.len() { place } else { self.sums.partition_point(|&sum| sum < total) }
    }
}
