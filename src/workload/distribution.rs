//! How a token count varies from request to request.

use serde::Serialize;

/// A distribution of token counts. A draw is rounded to the nearest whole token.
///
/// `min` and `max` are inclusive bounds in tokens. The normal and the log-normal are *truncated* to them (drawn
/// from the conditional distribution given the bounds, not piled up on the edges), so the realised mean moves
/// when a bound cuts deep; the exponential likewise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Distribution {
    /// Always `value` tokens.
    Constant {
        /// Tokens, at least 1.
        value: u32,
    },
    /// Every whole number from `min` to `max`, both included, equally likely.
    Uniform {
        /// Smallest count, tokens.
        min: u32,
        /// Largest count, tokens.
        max: u32,
    },
    /// Normal with `mean` and `std` before truncation to `min..=max`.
    Normal {
        /// Mean before truncation, tokens.
        mean: f64,
        /// Standard deviation before truncation, tokens.
        std: f64,
        /// Smallest count, tokens.
        min: u32,
        /// Largest count, tokens.
        max: u32,
    },
    /// Log-normal: the logarithm of the count is normal with mean ln `median` and standard deviation `sigma`,
    /// truncated to `min..=max`.
    LogNormal {
        /// Median before truncation, tokens (exp(μ)).
        median: f64,
        /// Standard deviation of the logarithm (σ).
        sigma: f64,
        /// Smallest count, tokens.
        min: u32,
        /// Largest count, tokens.
        max: u32,
    },
    /// Exponential with `mean` before truncation to `min..=max`.
    Exponential {
        /// Mean before truncation, tokens.
        mean: f64,
        /// Smallest count, tokens.
        min: u32,
        /// Largest count, tokens.
        max: u32,
    },
    /// Counts as observed: `values[i]` with a probability proportional to `weights[i]`.
    Empirical {
        /// Observed counts, tokens.
        values: Vec<u32>,
        /// One weight a value; all equal when the file gives none.
        weights: Vec<f64>,
    },
}
