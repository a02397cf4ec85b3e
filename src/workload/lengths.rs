//! How token counts vary from request to request.

use std::f64::consts::{PI, SQRT_2};

use crate::units::count;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::spec_kinds;
use crate::workload::reading::value::{Allowed, SpecValue};

/// Longest prompt or answer that a spec may ask for, tokens. It is also the default upper bound of a distribution. No
/// model served today has such a context.
pub const TOKEN_LIMIT: u32 = 1_000_000;
/// Counts of tokens, and their means and spreads.
const COUNT: Allowed = Allowed::from(1.0, TOKEN_LIMIT as f64);
const MEAN: Allowed = Allowed::above(0.0, TOKEN_LIMIT as f64);
/// At 5, one request in forty is longer than 18,000 times the median.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);

/// vLLM's `--random-range-ratio`, which must be below 1.
const VLLM_RATIO: Allowed = Allowed::from(0.0, 0.999);
/// SGLang's ratio.
const SGLANG_RATIO: Allowed = Allowed::from(0.0, 1.0);

spec_kinds! {
    /// A distribution of token counts. A draw is rounded to the nearest whole token.
    ///
    /// `min` and `max` are inclusive bounds in tokens. Normal, log-normal and exponential are *truncated* to them
    /// (drawn from the conditional distribution, not clamped to the edges), so a tight bound shifts the mean. In a
    /// file, `min` defaults to 1 and `max` to [`TOKEN_LIMIT`]; the uniform needs both.
    pub enum Distribution = "distribution" {
        /// Always `value` tokens.
        "constant" Constant {
            /// Tokens, at least 1.
            value: u32 = required(tokens),
        },
        /// Every whole number from `min` to `max`, both included, equally likely.
        "uniform" Uniform {
            /// Smallest count, tokens.
            min: u32 = required(tokens),
            /// Largest count, tokens.
            max: u32 = required(tokens),
        } check(fields) {
            fields.in_order(min?, max?)?;
        },
        /// Normal with `mean` and `std` before truncation to `min..=max`.
        "normal" Normal {
            /// Mean before truncation, tokens.
            mean: f64 = required(|value| value.number(MEAN)),
            /// Standard deviation before truncation, tokens.
            std: f64 = required(|value| value.number(MEAN)),
            /// Smallest count, tokens.
            min: u32 = optional(1, tokens),
            /// Largest count, tokens.
            max: u32 = optional(TOKEN_LIMIT, tokens),
        } check(fields) {
            fields.in_order(min?, max?)?;
        } then(likely),
        /// Log-normal lengths. The logarithm of the count is normal with mean ln `median` and standard deviation
        /// `sigma`, truncated to `min..=max`.
        "log_normal" LogNormal {
            /// Median before truncation, tokens (exp(μ)).
            median: f64 = required(|value| value.number(MEAN)),
            /// Standard deviation of the logarithm (σ).
            sigma: f64 = required(|value| value.number(SIGMA)),
            /// Smallest count, tokens.
            min: u32 = optional(1, tokens),
            /// Largest count, tokens.
            max: u32 = optional(TOKEN_LIMIT, tokens),
        } check(fields) {
            fields.in_order(min?, max?)?;
        } then(likely),
        /// Exponential with `mean` before truncation to `min..=max`.
        "exponential" Exponential {
            /// Mean before truncation, tokens.
            mean: f64 = required(|value| value.number(MEAN)),
            /// Smallest count, tokens.
            min: u32 = optional(1, tokens),
            /// Largest count, tokens.
            max: u32 = optional(TOKEN_LIMIT, tokens),
        } check(fields) {
            fields.in_order(min?, max?)?;
        } then(likely),
        /// Observed counts: `values[i]` with a probability proportional to `weights[i]`.
        "empirical" Empirical {
            /// Observed counts, tokens.
            values: Vec<u32> = required(|value| value.list(tokens)),
            /// One weight per value; all equal when the file gives none.
            weights: Vec<f64> = weights("values", values.as_ref().map(Vec::len)),
        },
    }
    also {
        "vllm_range" = |fields| {
            let length: Option<u32> = fields.required("length", tokens);
            let ratio = fields.required("ratio", |value| value.number(VLLM_RATIO));
            Self::vllm_range(length?, ratio?).or_else(|| {
                let most = count(TOKEN_LIMIT.into());
                fields.reject_of("length", &format!("times 1 + `ratio` is over {most}; lower one of them"))
            })
        },
        "sglang_range" = |fields| {
            let length = fields.required("length", tokens);
            let ratio = fields.required("ratio", |value| value.number(SGLANG_RATIO));
            Some(Self::sglang_range(length?, ratio?))
        },
    }
    never {
        /// Lengths as each row of the class's dataset says. A class with a dataset has it by leaving its lengths out;
        /// it is never written.
        "dataset" Dataset {
            /// Mean over the rows, tokens; absent before the dataset is read.
            mean: Option<f64>,
        },
        /// Lengths as the replayed trace says for each request. Every workload with a trace has them.
        "trace" Trace {
            /// Mean over the trace's slice, tokens.
            mean: f64,
        },
    }
}

impl Default for Distribution {
    /// One token.
    fn default() -> Self {
        Self::Constant { value: 1 }
    }
}

impl Distribution {
    /// Returns whether the lengths come from a trace or from a dataset's rows. A spec neither gives nor stores those.
    pub const fn is_from_file(&self) -> bool {
        matches!(self, Self::Dataset { .. } | Self::Trace { .. })
    }

    /// Reads one count.
    pub(crate) fn tokens(value: SpecValue<'_>) -> Option<u32> {
        tokens(value)
    }

    /// Reads a distribution, or a number in place of a constant.
    pub(crate) fn read_or_constant(value: SpecValue<'_>) -> Option<Self> {
        if value.is_number() { Some(Self::Constant { value: tokens(value)? }) } else { Self::read(value) }
    }

    /// Returns the lengths that `vllm bench serve` draws for its options. With `--random-input-len` (or
    /// `--random-output-len`) and `--random-range-ratio` they are uniform from ⌊length (1 − ratio)⌋ to ⌈length (1 +
    /// ratio)⌉, at least 1 (vLLM, `vllm/benchmarks/datasets/utils.py`, `get_sampling_params`). `None` where that
    /// exceeds the limit.
    fn vllm_range(length: u32, ratio: f64) -> Option<Self> {
        let bound = |factor: f64| f64::from(length) * factor;
        let (min, max) = (bound(1.0 - ratio).floor().max(1.0), bound(1.0 + ratio).ceil());
        (max <= f64::from(TOKEN_LIMIT)).then_some(Self::Uniform { min: min as u32, max: max as u32 })
    }

    /// Returns the lengths that SGLang's `bench_serving` draws for the same options. The ratio has another meaning:
    /// they are uniform from ⌊length × ratio⌋, at least 1, to length (SGLang,
    /// `python/sglang/benchmark/datasets/common.py`, `compute_random_lens`).
    fn sglang_range(length: u32, ratio: f64) -> Self {
        Self::Uniform { min: ((f64::from(length) * ratio) as u32).max(1), max: length }
    }

    /// The largest count that can be drawn.
    pub(crate) fn most(&self) -> u32 {
        match self {
            Self::Constant { value } => *value,
            Self::Uniform { max, .. }
            | Self::Normal { max, .. }
            | Self::LogNormal { max, .. }
            | Self::Exponential { max, .. } => *max,
            Self::Empirical { values, .. } => values.iter().copied().max().unwrap_or(1),
            Self::Dataset { .. } | Self::Trace { .. } => TOKEN_LIMIT,
        }
    }

    /// Whether the rows of a dataset give the lengths.
    pub const fn is_of_rows(&self) -> bool {
        matches!(self, Self::Dataset { .. })
    }
}

fn tokens(value: SpecValue<'_>) -> Option<u32> {
    value.whole(COUNT)
}

/// Refuses a truncation that leaves almost nothing of the distribution. The bounds would decide its draws.
fn likely(fields: &Fields<'_>, distribution: &Distribution) -> Option<()> {
    /// Share of the draws before truncation that must lie within the bounds.
    const LEAST: f64 = 0.001;
    let (Distribution::Normal { min, max, .. }
    | Distribution::LogNormal { min, max, .. }
    | Distribution::Exponential { min, max, .. }) = distribution
    else {
        return Some(());
    };
    if distribution.share_kept() >= LEAST {
        return Some(());
    }
    fields.reject(&format!(
        "keeps less than 0.1 % of its draws between `min` {min} and `max` {max}; widen them, move the centre between \
         them, or choose the kind uniform or constant"
    ))
}

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
                let weighted: f64 = values.iter().zip(weights).map(|(value, weight)| f64::from(*value) * weight).sum();
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

/// Returns the probability of a standard normal between two points, Φ(high) − Φ(low). It has no cancellation in either
/// tail.
fn mass(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        (libm::erfc(low / SQRT_2) - libm::erfc(high / SQRT_2)) / 2.0
    } else {
        (libm::erfc(-high / SQRT_2) - libm::erfc(-low / SQRT_2)) / 2.0
    }
}

/// Exponents of Zipf's law, from equal shares up. At 5 the second item is chosen once for every 32 times of the first.
pub(super) const SKEW: Allowed = Allowed::from(0.0, 5.0);

/// Returns weights by Zipf's law. The k-th of `count` items has the weight k^−`exponent`; 0 makes all equal.
///
/// Computed by `libm`, so that they are the same on every machine.
pub fn zipf(count: u64, exponent: f64) -> impl Iterator<Item = f64> {
    (1..=count).map(move |rank| libm::pow(rank as f64, -exponent))
}

/// Large enough for counts used as weights; 0 switches a share off.
const WEIGHT: Allowed = Allowed::from(0.0, 1_000_000_000.0);

/// Reads one weight.
pub(super) fn read_weight(value: SpecValue<'_>) -> Option<f64> {
    value.number(WEIGHT)
}

impl Fields<'_> {
    /// Reads one weight for each of the items of the field `of`. They are equal where none are given.
    fn weights(&mut self, name: &'static str, of: &str, items: Option<usize>) -> Option<Vec<f64>> {
        let given = self.option(name, |value| value.list(read_weight));
        let items = items?;
        one_each(self, given?, of, items)
    }
}

/// Returns one weight for each of the items of the field `of`. They are those that are given, else equal ones.
pub(super) fn one_each(fields: &Fields<'_>, given: Option<Vec<f64>>, of: &str, items: usize) -> Option<Vec<f64>> {
    let weights = given.unwrap_or_else(|| vec![1.0; items]);
    if weights.len() != items {
        let length = weights.len();
        let sentence = format!("has length {length} and `{of}` {items}; give one weight for each, or none");
        return fields.reject_of("weights", &sentence);
    }
    positive_total(fields, "weights", &weights)?;
    Some(weights)
}

/// Requires at least one weight above 0. Otherwise it is a mistake of the field `name`.
pub(super) fn positive_total(fields: &Fields<'_>, name: &'static str, weights: &[f64]) -> Option<()> {
    if weights.iter().any(|weight| *weight > 0.0) {
        return Some(());
    }
    fields.reject_of(name, "has no weight above 0; give at least one a share")
}

#[cfg(test)]
mod weight_tests {
    use super::*;

    #[test]
    fn weights_are_powers_of_the_rank() {
        assert_eq!(zipf(4, 0.0).collect::<Vec<_>>(), [1.0; 4]);
        assert_eq!(zipf(4, 1.0).collect::<Vec<_>>(), [1.0, 0.5, 1.0 / 3.0, 0.25]);
        assert_eq!(zipf(2, 5.0).last(), Some(1.0 / 32.0));
    }
}
