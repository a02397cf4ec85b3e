//! Draws token counts from their distributions.

use crate::random::{RandomStream, WeightedChoice, normal_cdf, normal_quantile};
use crate::workload::Distribution;

/// A sampler of token counts.
///
/// Truncation is exact: a draw maps one uniform number through the inverse distribution function between the bounds,
/// so nothing is rejected and nothing accumulates at a bound.
#[derive(Clone, Debug)]
pub struct LengthSampler(Shape);

#[derive(Clone, Debug)]
enum Shape {
    Constant(u32),
    Uniform { min: u32, max: u32 },
    Normal { bell: TruncatedNormal, min: u32, max: u32 },
    LogNormal { bell: TruncatedNormal, min: u32, max: u32 },
    Exponential { mean: f64, min: u32, max: u32 },
    Empirical { values: Vec<u32>, choice: WeightedChoice },
}

impl LengthSampler {
    /// A sampler of `distribution`.
    pub fn new(distribution: &Distribution) -> Self {
        Self(match *distribution {
            Distribution::Constant { value } => Shape::Constant(value),
            // A trace gives every length; nothing is drawn.
            Distribution::Trace { mean } => Shape::Constant(mean.round() as u32),
            Distribution::Uniform { min, max } => Shape::Uniform { min, max },
            Distribution::Normal { mean, std, min, max } => {
                let bell = TruncatedNormal::new(mean, std, f64::from(min), f64::from(max));
                Shape::Normal { bell, min, max }
            }
            Distribution::LogNormal { median, sigma, min, max } => {
                let log = |count: u32| libm::log(f64::from(count));
                let bell = TruncatedNormal::new(libm::log(median), sigma, log(min), log(max));
                Shape::LogNormal { bell, min, max }
            }
            Distribution::Exponential { mean, min, max } => Shape::Exponential { mean, min, max },
            Distribution::Empirical { ref values, ref weights } => {
                let weight = |place: usize| weights.get(place).copied().unwrap_or(1.0);
                let choice = WeightedChoice::new((0..values.len()).map(weight));
                Shape::Empirical { values: values.clone(), choice }
            }
            // Rows give the lengths; their mean stands in.
            Distribution::Dataset { mean } => Shape::Constant(mean.map_or(1, |mean| mean.round() as u32)),
        })
    }

    /// Draws one count: always one number from `stream`, or none for a constant.
    pub fn draw(&self, stream: &mut RandomStream) -> u32 {
        match &self.0 {
            Shape::Constant(value) => *value,
            Shape::Uniform { min, max } => {
                let choices = u64::from(max.saturating_sub(*min)) + 1;
                min + stream.below(choices) as u32
            }
            Shape::Normal { bell, min, max } => round(bell.draw(stream), *min, *max),
            Shape::LogNormal { bell, min, max } => round(libm::exp(bell.draw(stream)), *min, *max),
            Shape::Exponential { mean, min, max } => {
                // An exponential above `min` begins anew there (memoryless).
                let width = f64::from(*max) - f64::from(*min);
                let mass = -libm::expm1(-width / mean);
                round(f64::from(*min) - mean * libm::log1p(-stream.unit() * mass), *min, *max)
            }
            Shape::Empirical { values, choice } => values.get(choice.draw(stream)).copied().unwrap_or(1),
        }
    }
}

/// Rounds to the nearest whole count inside the bounds; NaN becomes the lower one.
fn round(count: f64, min: u32, max: u32) -> u32 {
    (libm::round(count) as u32).clamp(min, max.max(min))
}

/// A normal variable truncated to two bounds.
#[derive(Clone, Debug)]
struct TruncatedNormal {
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    /// Probabilities below each bound. They are mirrored when both bounds lie above the mean, since only the lower tail
    /// keeps its digits.
    p_low: f64,
    p_high: f64,
    side: f64,
}

impl TruncatedNormal {
    fn new(mean: f64, std: f64, low: f64, high: f64) -> Self {
        let (from, to) = ((low - mean) / std, (high - mean) / std);
        let side = if from > 0.0 { -1.0 } else { 1.0 };
        let (from, to) = if side < 0.0 { (-to, -from) } else { (from, to) };
        Self { mean, std, low, high, p_low: normal_cdf(from), p_high: normal_cdf(to), side }
    }

    fn draw(&self, stream: &mut RandomStream) -> f64 {
        let p = self.p_low + stream.open_unit() * (self.p_high - self.p_low);
        if self.p_high > self.p_low && self.std > 0.0 {
            return (self.mean + self.side * self.std * normal_quantile(p)).clamp(self.low, self.high);
        }
        // No spread, or bounds so far out that the nearest one has all of the mass.
        self.mean.clamp(self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorted draws.
    fn sample(distribution: &Distribution, n: usize) -> Vec<u32> {
        let lengths = LengthSampler::new(distribution);
        let mut stream = RandomStream::named(7, "input_tokens/test");
        let mut draws: Vec<u32> = (0..n).map(|_| lengths.draw(&mut stream)).collect();
        draws.sort_unstable();
        draws
    }

    /// scipy's figures of the continuous law. They are the mean, the standard deviation and the 5 %, 50 %, 95 %
    /// quantiles.
    struct Expected {
        mean: f64,
        std: f64,
        quantiles: [f64; 3],
    }

    fn assert_follows(distribution: &Distribution, bounds: (u32, u32), expected: &Expected) {
        let n = 40_000;
        let draws = sample(distribution, n);
        assert!(draws[0] >= bounds.0 && draws[n - 1] <= bounds.1, "{distribution:?} leaves its bounds");
        let mean = draws.iter().map(|&draw| f64::from(draw)).sum::<f64>() / n as f64;
        let error = 4.0 * expected.std / (n as f64).sqrt() + 0.05;
        assert!((mean - expected.mean).abs() < error, "{distribution:?}: mean {mean}, scipy {}", expected.mean);
        for (p, quantile) in [0.05, 0.5, 0.95].into_iter().zip(expected.quantiles) {
            // The share of draws below a quantile is p within four standard errors, rounding of half a token aside.
            let share = |bound: f64| draws.partition_point(|&draw| f64::from(draw) < bound) as f64 / n as f64;
            let error = 4.0 * (p * (1.0 - p) / n as f64).sqrt();
            assert!(
                share(quantile - 1.0) < p + error && share(quantile + 1.0) > p - error,
                "{distribution:?}: p{p} is not {quantile}"
            );
        }
    }

    #[test]
    fn truncated_laws_are_scipys() {
        // d = scipy.stats.truncnorm((a - m) / s, (b - m) / s, loc=m, scale=s); d.mean(), d.std(), d.ppf([.05, .5, .95])
        // log-normal: the same of ln(count), d.expect(np.exp); exponential: truncexpon((b - a) / m, loc=a, scale=m)
        for (mean, std, min, max, expected) in [
            (256.0, 128.0, 16, 1024, [265.0807, 118.8368, 75.1784, 260.8775, 468.4508]),
            (128.0, 64.0, 1, 512, [131.6509, 60.1582, 34.691, 129.8938, 234.0101]),
            (100.0, 50.0, 150, 400, [176.2568, 22.3102, 151.667, 170.4804, 220.5997]),
            (100.0, 50.0, 10, 60, [40.1048, 13.6544, 15.0855, 42.2128, 58.4628]),
        ] {
            assert_follows(&Distribution::Normal { mean, std, min, max }, (min, max), &expected.into());
        }
        for (median, sigma, min, max, expected) in [
            (200.0, 1.0, 8, 4096, [323.1953, 382.1915, 38.813, 199.844, 1024.4636]),
            (500.0, 0.5, 600, 2000, [865.741, 250.1713, 614.5663, 789.8503, 1388.6815]),
        ] {
            assert_follows(&Distribution::LogNormal { median, sigma, min, max }, (min, max), &expected.into());
        }
        for (mean, min, max, expected) in [
            (100.0, 1, 1000, [100.9542, 99.7709, 6.1291, 70.3101, 300.4861]),
            (100.0, 50, 120, [80.9496, 19.963, 52.5493, 78.9961, 115.0555]),
        ] {
            assert_follows(&Distribution::Exponential { mean, min, max }, (min, max), &expected.into());
        }
    }

    impl From<[f64; 5]> for Expected {
        fn from([mean, std, p5, p50, p95]: [f64; 5]) -> Self {
            Self { mean, std, quantiles: [p5, p50, p95] }
        }
    }

    #[test]
    fn bounds_far_outside_the_bell_give_the_nearest_bound() {
        let far_up = Distribution::Normal { mean: 100.0, std: 1.0, min: 500, max: 900 };
        let far_down = Distribution::Normal { mean: 900.0, std: 1.0, min: 100, max: 500 };
        assert_eq!(sample(&far_up, 100)[99], 500);
        assert_eq!(sample(&far_down, 100)[0], 500);
        let ten_sigma = Distribution::Normal { mean: 100.0, std: 10.0, min: 200, max: 900 };
        let draws = sample(&ten_sigma, 1_000);
        assert!(draws[0] == 200 && draws[999] < 210, "the tail from ten sigma falls off within a token or so");
    }

    #[test]
    fn no_spread_is_a_constant() {
        let flat = Distribution::Normal { mean: 99.6, std: 0.0, min: 1, max: 500 };
        assert_eq!(sample(&flat, 10), [100; 10]);
        assert_eq!(sample(&Distribution::LogNormal { median: 50.0, sigma: 0.0, min: 1, max: 99 }, 3), [50; 3]);
        assert_eq!(sample(&Distribution::Constant { value: 7 }, 3), [7; 3]);
        assert_eq!(sample(&Distribution::Uniform { min: 5, max: 5 }, 3), [5; 3]);
        assert_eq!(sample(&Distribution::Exponential { mean: 5.0, min: 9, max: 9 }, 3), [9; 3]);
    }

    #[test]
    fn uniform_counts_are_equally_likely_at_the_ends_too() {
        let draws = sample(&Distribution::Uniform { min: 3, max: 6 }, 40_000);
        for value in 3..=6 {
            let share = draws.iter().filter(|&&draw| draw == value).count();
            assert!((9_650..10_350).contains(&share), "{value} came {share} times of 40,000"); // 4 σ of 87
        }
    }

    #[test]
    fn empirical_counts_follow_their_weights() {
        let weighted = Distribution::Empirical { values: vec![10, 20, 30], weights: vec![1.0, 0.0, 3.0] };
        let draws = sample(&weighted, 40_000);
        let tens = draws.partition_point(|&draw| draw == 10);
        assert!((9_650..10_350).contains(&tens) && draws.iter().all(|&draw| draw != 20), "{tens} tens of 40,000");
        let unweighted = Distribution::Empirical { values: vec![1, 2], weights: Vec::new() };
        let ones = sample(&unweighted, 10_000).partition_point(|&draw| draw == 1);
        assert!((4_800..5_200).contains(&ones), "{ones} ones of 10,000");
    }
}
