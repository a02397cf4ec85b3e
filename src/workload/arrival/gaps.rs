//! Families of independent inter-arrival gaps.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::workload::reading::allowed::Allowed;

/// Coefficients of variation that both families can have.
pub(super) const CV: Allowed = Allowed::from(0.04, 8.0);

/// A family of gap distributions with one parameter beside the mean.
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

/// Range of Weibull shapes searched for a coefficient of variation: CVs from 8.3 down to 0.013.
const SHAPES: (f64, f64) = (0.25, 100.0);

impl GapFamily {
    /// The member of the family whose gaps have this coefficient of variation (standard deviation ÷ mean).
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
            assert_eq!(
                (GapForm::Gamma(shape).cv(), GapFamily::Gamma.with_cv(cv)),
                (cv, GapForm::Gamma(shape))
            );
        }
    }
}
