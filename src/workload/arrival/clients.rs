//! Clients that each send requests at their own rate.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::random::normal_quantile;
use crate::workload::reading::value::{Allowed, RATE};
use crate::workload::reading::weights::{SKEW, zipf};
use crate::workload::reading::{spec_kinds, spec_table};

/// At 5 the largest of 100 clients sends nearly everything.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);

spec_table! {
    /// One client: independent gaps with mean 1/rate.
    ///
    /// Most burstiness in production comes from a few large clients (`ServeGen`: Xiang et al., *Workload
    /// Characterization and Generation of Large Language Model Serving in Production*, arXiv 2505.09999).
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Client = "a client" {
        /// Requests per second.
        rate_per_s: f64 = required(|value| value.number(RATE)),
        /// Coefficient of variation of the gaps. 1 is Poisson, above 1 burstier; 1 when the file gives none.
        cv: f64 = optional(1.0, |value| value.number(CV)),
        /// Family of the gaps; gamma when the file gives none.
        gaps: GapFamily = optional(GapFamily::Gamma, |value| value.variant()),
    }
}

spec_kinds! {
    /// How a total rate is divided among the clients of a population, the largest first. The shares are quantiles, not
    /// draws: every seed and every repeat has the same clients.
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum RateSpread = "spread" {
        /// All clients have the same rate.
        "equal" Equal,
        /// The i-th client's rate is proportional to 1/i^exponent.
        "zipf" Zipf {
            /// Exponent of the law. 0 makes all alike; at 1 the first ten of 100 clients send 56 % of the requests.
            exponent: f64 = required(|value| value.number(SKEW)),
        },
        /// Log-normal: the i-th of n rates is proportional to exp(sigma·Φ⁻¹(1 − (i − ½)/n)).
        "log_normal" LogNormal {
            /// Standard deviation of the logarithm.
            sigma: f64 = required(|value| value.number(SIGMA)),
        },
    }
}

impl Client {
    /// The distribution of its gaps.
    pub fn form(&self) -> GapForm {
        self.gaps.with_cv(self.cv)
    }
}

impl Default for RateSpread {
    fn default() -> Self {
        Self::Zipf { exponent: 1.0 }
    }
}

impl RateSpread {
    /// The rates of `clients` clients that sum to `total_per_s`, the largest first.
    pub fn rates(&self, total_per_s: f64, clients: u64) -> Vec<f64> {
        let n = clients as f64;
        let weights: Vec<f64> = match *self {
            Self::Equal => zipf(clients, 0.0).collect(),
            Self::Zipf { exponent } => zipf(clients, exponent).collect(),
            Self::LogNormal { sigma } => {
                (1..=clients).map(|i| libm::exp(sigma * normal_quantile(1.0 - (i as f64 - 0.5) / n))).collect()
            }
        };
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| total_per_s * weight / all).collect()
    }
}

/// Coefficients of variation that both families can have.
pub(super) const CV: Allowed = Allowed::from(0.04, 8.0);

/// A family of gap distributions with one parameter and the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum GapFamily {
    /// Gamma.
    #[default]
    Gamma,
    /// Weibull.
    Weibull,
}

/// The shape of a gap distribution, whatever its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapForm {
    /// Gamma with this shape; 1 is the exponential.
    Gamma(f64),
    /// Weibull with this shape; 1 is the exponential.
    Weibull(f64),
}

/// Range of Weibull shapes searched for a coefficient of variation. CVs go from 8.3 down to 0.013.
const SHAPES: (f64, f64) = (0.25, 100.0);

impl GapFamily {
    /// Returns the member of the family with this coefficient of variation. It is that of its gaps (standard deviation
    /// ÷ mean).
    ///
    /// Gamma: shape 1/cv². Weibull: by bisection, since its CV has no closed-form inverse.
    pub fn with_cv(self, cv: f64) -> GapForm {
        match self {
            Self::Gamma => GapForm::Gamma(1.0 / (cv * cv)),
            Self::Weibull => {
                let (mut low, mut high) = SHAPES;
                loop {
                    let middle = f64::midpoint(low, high);
                    if middle <= low || middle >= high {
                        return GapForm::Weibull(middle);
                    }
                    // A larger shape is a smaller CV.
                    if weibull_cv(middle) > cv { low = middle } else { high = middle }
                }
            }
        }
    }
}

impl GapForm {
    /// Coefficient of variation: standard deviation ÷ mean; 1 for the exponential.
    ///
    /// Gamma: 1/√shape. Weibull: √(Γ(1 + 2/shape) ÷ Γ(1 + 1/shape)² − 1).
    pub fn cv(self) -> f64 {
        match self {
            Self::Gamma(shape) => 1.0 / libm::sqrt(shape),
            Self::Weibull(shape) => weibull_cv(shape),
        }
    }
}

fn weibull_cv(shape: f64) -> f64 {
    libm::sqrt(libm::expm1(libm::lgamma(1.0 + 2.0 / shape) - 2.0 * libm::lgamma(1.0 + 1.0 / shape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shared_as_declared() {
        // By hand: 1 + 1/2 + 1/4 = 7/4.
        let zipf = RateSpread::Zipf { exponent: 1.0 }.rates(7.0, 4);
        let by_hand = [7.0 * 12.0 / 25.0, 7.0 * 6.0 / 25.0, 7.0 * 4.0 / 25.0, 7.0 * 3.0 / 25.0];
        assert!(zipf.iter().zip(by_hand).all(|(rate, hand)| (rate - hand).abs() < 1e-12), "{zipf:?}");
        assert_eq!(RateSpread::Equal.rates(3.0, 3), [1.0; 3]);
        // scipy 1.17.1, numpy 2.4.6: w = exp(1.5 * norm.ppf(1 - (arange(1, 6) - .5) / 5)); 10 * w / w.sum().
        let log_normal = RateSpread::LogNormal { sigma: 1.5 }.rates(10.0, 5);
        assert!(log_normal.iter().zip(LOG_NORMAL).all(|(rate, scipy)| (rate - scipy).abs() < 1e-9), "{log_normal:?}");
    }

    const LOG_NORMAL: [f64; 5] = [
        6.428_979_687_908_303,
        2.064_915_419_412_021,
        0.940_342_129_288_044_8,
        0.428_222_537_253_249_7,
        0.137_540_226_138_382_24,
    ];
}

#[cfg(test)]
mod gaps_tests {
    use super::*;

    /// scipy 1.17.1: `weibull_min(k).std() / weibull_min(k).mean()` and `gamma(k).std() / gamma(k).mean()`.
    const WEIBULL: [(f64, f64); 5] = [
        (0.25, 8.306_623_862_918_075),
        (0.5, 2.236_067_977_499_79),
        (1.0, 1.0),
        (2.0, 0.522_723_200_877_063_1),
        (10.0, 0.120_310_218_931_155_34),
    ];

    #[test]
    fn coefficients_of_variation_are_scipys() {
        for (shape, cv) in WEIBULL {
            let found = GapForm::Weibull(shape).cv();
            assert!((found / cv - 1.0).abs() < 1e-9, "weibull {shape}: {found}, not {cv}");
            let back = GapFamily::Weibull.with_cv(cv);
            let near = |found: f64| (found / shape - 1.0).abs() < 1e-6;
            assert!(matches!(back, GapForm::Weibull(found) if near(found)), "cv {cv}: {back:?}, not {shape}");
        }
        for (shape, cv) in [(0.25, 2.0), (1.0, 1.0), (4.0, 0.5)] {
            assert_eq!((GapForm::Gamma(shape).cv(), GapFamily::Gamma.with_cv(cv)), (cv, GapForm::Gamma(shape)));
        }
    }
}
