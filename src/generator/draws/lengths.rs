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
    /// Probabilities below each bound (mirrored when both bounds lie above the mean, since only the lower tail keeps
    /// its digits).
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
mod tests;
