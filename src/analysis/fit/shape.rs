//! How likely token counts are under the distributions that a workload can have.

use crate::random::normal_cdf;
use crate::workload::Distribution;

/// Probability, before truncation, of lying between two numbers of tokens.
fn mass(distribution: &Distribution, from: f64, to: f64) -> f64 {
    match distribution {
        Distribution::Normal { mean, std, .. } => normal_mass((from - mean) / std, (to - mean) / std),
        Distribution::LogNormal { median, sigma, .. } => {
            let score = |x: f64| libm::log(x / median) / sigma;
            normal_mass(score(from), score(to))
        }
        Distribution::Exponential { mean, .. } => libm::exp(-from / mean) * -libm::expm1(-(to - from) / mean),
        _ => f64::NAN,
    }
}

/// Without cancellation in the upper tail.
fn normal_mass(low: f64, high: f64) -> f64 {
    if low > 0.0 { normal_cdf(-low) - normal_cdf(-high) } else { normal_cdf(high) - normal_cdf(low) }
}

/// Probability of a count from `first` to `last`. A count stands for what is rounded to it inside the bounds.
pub(super) fn probability(distribution: &Distribution, first: u32, last: u32) -> f64 {
    match distribution {
        Distribution::Constant { value } => f64::from(u8::from((first..=last).contains(value))),
        Distribution::Uniform { min, max } => {
            let (first, last) = (first.max(*min), last.min(*max));
            if first > last { 0.0 } else { f64::from(last - first + 1) / f64::from(max - min + 1) }
        }
        Distribution::Normal { min, max, .. }
        | Distribution::LogNormal { min, max, .. }
        | Distribution::Exponential { min, max, .. } => {
            let (low, high) = (f64::from(*min), f64::from(*max));
            let from = (f64::from(first) - 0.5).max(low);
            let to = (f64::from(last) + 0.5).min(high);
            if from >= to { 0.0 } else { mass(distribution, from, to) / mass(distribution, low, high) }
        }
        Distribution::Empirical { values, weights } => {
            let inside = values.iter().zip(weights).filter(|(value, _)| (first..=last).contains(value));
            inside.map(|(_, weight)| weight).sum::<f64>() / weights.iter().sum::<f64>()
        }
        Distribution::Dataset { .. } | Distribution::Trace { .. } => f64::NAN,
    }
}

/// Probability of a count of at most `count`.
pub(super) fn below(distribution: &Distribution, count: u32) -> f64 {
    let (_, max) = bounds(distribution);
    if count >= max { 1.0 } else { probability(distribution, 0, count) }
}

/// The smallest count that at least a share `p` does not exceed.
pub(super) fn quantile(distribution: &Distribution, p: f64) -> u32 {
    let (mut low, mut high) = bounds(distribution);
    while low < high {
        let middle = low + (high - low) / 2;
        if below(distribution, middle) >= p { high = middle } else { low = middle + 1 }
    }
    high
}

fn bounds(distribution: &Distribution) -> (u32, u32) {
    match distribution {
        Distribution::Constant { value } => (*value, *value),
        Distribution::Uniform { min, max }
        | Distribution::Normal { min, max, .. }
        | Distribution::LogNormal { min, max, .. }
        | Distribution::Exponential { min, max, .. } => (*min, *max),
        Distribution::Empirical { values, .. } => {
            (values.iter().copied().min().unwrap_or(1), values.iter().copied().max().unwrap_or(1))
        }
        Distribution::Dataset { .. } | Distribution::Trace { .. } => (1, 1),
    }
}
