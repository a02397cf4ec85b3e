//! The mean of a distribution, and the share that its bounds keep.

use std::f64::consts::{PI, SQRT_2};

use super::distribution::Distribution;

impl Distribution {
    /// Expected tokens of a request, after truncation and before rounding. NaN when a dataset decides that has not
    /// been read.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant { value } => f64::from(*value),
            Self::Uniform { min, max } => f64::midpoint(f64::from(*min), f64::from(*max)),
            // μ + σ (φ(α) − φ(β)) / (Φ(β) − Φ(α))
            Self::Normal { mean, std, min, max } => {
                let (low, high) = ((f64::from(*min) - mean) / std, (f64::from(*max) - mean) / std);
                mean + std * (bell(low) - bell(high)) / mass(low, high)
            }
            // e^(μ + σ²/2) (Φ(β − σ) − Φ(α − σ)) / (Φ(β) − Φ(α))
            Self::LogNormal { median, sigma, min, max } => {
                let (low, high) = log_bounds(*median, *sigma, *min, *max);
                median * libm::exp(sigma * sigma / 2.0) * mass(low - sigma, high - sigma) / mass(low, high)
            }
            // m + (a e^(−a/m) − b e^(−b/m)) / (e^(−a/m) − e^(−b/m))
            Self::Exponential { mean, min, max } => {
                let (min, max) = (f64::from(*min), f64::from(*max));
                let (above_min, above_max) = (libm::exp(-min / mean), libm::exp(-max / mean));
                mean + (min * above_min - max * above_max) / (above_min - above_max)
            }
            Self::Empirical { values, weights } => {
                let weighted: f64 =
                    values.iter().zip(weights).map(|(value, weight)| f64::from(*value) * weight).sum();
                weighted / weights.iter().sum::<f64>()
            }
            Self::Dataset { mean } => mean.unwrap_or(f64::NAN),
            Self::Trace { mean } => *mean,
        }
    }

    /// Share of draws before truncation that lie within the bounds: 1 without truncation.
    pub fn share_kept(&self) -> f64 {
        match self {
            Self::Constant { .. }
            | Self::Uniform { .. }
            | Self::Empirical { .. }
            | Self::Dataset { .. }
            | Self::Trace { .. } => 1.0,
            Self::Normal { mean, std, min, max } => {
                mass((f64::from(*min) - mean) / std, (f64::from(*max) - mean) / std)
            }
            Self::LogNormal { median, sigma, min, max } => {
                let (low, high) = log_bounds(*median, *sigma, *min, *max);
                mass(low, high)
            }
            Self::Exponential { mean, min, max } => {
                libm::exp(-f64::from(*min) / mean) - libm::exp(-f64::from(*max) / mean)
            }
        }
    }
}

/// The bounds in standard deviations of the logarithm from its mean.
fn log_bounds(median: f64, sigma: f64, min: u32, max: u32) -> (f64, f64) {
    (libm::log(f64::from(min) / median) / sigma, libm::log(f64::from(max) / median) / sigma)
}

/// Density of the standard normal, φ.
fn bell(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI)
}

/// Probability of a standard normal between two points, Φ(high) − Φ(low), without cancellation in either tail.
fn mass(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        (libm::erfc(low / SQRT_2) - libm::erfc(high / SQRT_2)) / 2.0
    } else {
        (libm::erfc(-high / SQRT_2) - libm::erfc(-low / SQRT_2)) / 2.0
    }
}
