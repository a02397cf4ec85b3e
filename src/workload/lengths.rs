//! How token counts vary from request to request.

use std::f64::consts::PI;

use crate::random::normal_cdf;
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

    /// No tokens: the length of answers that are no texts. No spec gives it, and none stores it.
    pub(crate) const NONE: Self = Self::Constant { value: 0 };

    /// Whether a spec stores the lengths of these answers.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.is_from_file() || *self == Self::NONE
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

    /// The smallest and the largest count that can be drawn.
    pub(crate) fn bounds(&self) -> (u32, u32) {
        match self {
            Self::Constant { value } => (*value, *value),
            Self::Uniform { min, max }
            | Self::Normal { min, max, .. }
            | Self::LogNormal { min, max, .. }
            | Self::Exponential { min, max, .. } => (*min, *max),
            Self::Empirical { values, .. } => {
                (values.iter().copied().min().unwrap_or(1), values.iter().copied().max().unwrap_or(1))
            }
            Self::Dataset { .. } | Self::Trace { .. } => (1, TOKEN_LIMIT),
        }
    }

    /// The lengths with so many tokens less in each. `None` where some would have none left, or of another kind.
    pub(crate) fn shortened(&self, by: u32) -> Option<Self> {
        let less = |tokens: u32| tokens.checked_sub(by).filter(|left| *left > 0);
        let (min, max) = self.bounds();
        let (min, max) = (less(min)?, less(max)?);
        match self {
            Self::Constant { .. } => Some(Self::Constant { value: min }),
            Self::Uniform { .. } => Some(Self::Uniform { min, max }),
            Self::Normal { mean, std, .. } => {
                let mean = Some(mean - f64::from(by)).filter(|mean| *mean > 0.0)?;
                Some(Self::Normal { mean, std: *std, min, max })
            }
            // What is above a number is drawn as if it began there.
            Self::Exponential { mean, .. } => Some(Self::Exponential { mean: *mean, min, max }),
            Self::Empirical { values, weights } => {
                let values = values.iter().map(|value| value - by).collect();
                Some(Self::Empirical { values, weights: weights.clone() })
            }
            Self::LogNormal { .. } | Self::Dataset { .. } | Self::Trace { .. } => None,
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
                mean + std * (bell(low) - bell(high)) / self.share_kept()
            }
            // e^(μ + σ²/2) (Φ(β − σ) − Φ(α − σ)) / (Φ(β) − Φ(α))
            Self::LogNormal { median, sigma, min, max } => {
                let score = |tokens: u32| libm::log(f64::from(tokens) / median) / sigma - sigma;
                median * libm::exp(sigma * sigma / 2.0) * mass(score(*min), score(*max)) / self.share_kept()
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
        let (min, max) = self.bounds();
        self.share_between(f64::from(min), f64::from(max))
    }

    /// Share of draws before truncation that lie between two numbers of tokens. It is 1 of a kind without truncation.
    pub(crate) fn share_between(&self, from: f64, to: f64) -> f64 {
        match self {
            Self::Normal { mean, std, .. } => mass((from - mean) / std, (to - mean) / std),
            Self::LogNormal { median, sigma, .. } => {
                mass(libm::log(from / median) / sigma, libm::log(to / median) / sigma)
            }
            Self::Exponential { mean, .. } => libm::exp(-from / mean) * -libm::expm1(-(to - from) / mean),
            _ => 1.0,
        }
    }
}

/// Density of the standard normal, φ.
fn bell(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI)
}

/// Returns the probability of a standard normal between two points, Φ(high) − Φ(low). It has no cancellation in either
/// tail.
fn mass(low: f64, high: f64) -> f64 {
    if low > 0.0 { normal_cdf(-low) - normal_cdf(-high) } else { normal_cdf(high) - normal_cdf(low) }
}
