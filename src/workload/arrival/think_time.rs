//! Think times: how long users wait before they go on.

use crate::random::normal_cdf;
use crate::workload::reading::spec_kinds;
use crate::workload::reading::value::{Allowed, LONGEST_S, SpecValue};

/// A think time, or its mean.
const PAUSE: Allowed = Allowed::from(0.0, LONGEST_S);
/// The median or mean of think times that vary.
const CENTRE: Allowed = Allowed::above(0.0, LONGEST_S);
/// At 5, one think time in forty is 18,000 times the median.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);
/// A share of the think times.
const SHARE: Allowed = Allowed::from(0.0, 1.0);

spec_kinds! {
    /// A distribution of think times in seconds. They go from the end of an answer to the next request.
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ThinkTime = "think time" {
        /// Always `value` seconds; a number in a file means this.
        "constant" Constant {
            /// Seconds.
            value: f64 = required(|value| value.number(PAUSE)),
        },
        /// Uniform from `min` to `max`.
        "uniform" Uniform {
            /// The shortest, seconds.
            min: f64 = required(|value| value.number(PAUSE)),
            /// The longest, seconds.
            max: f64 = required(|value| value.number(PAUSE)),
        } check(fields) {
            fields.in_order(min?, max?)?;
        },
        /// Exponential: memoryless.
        "exponential" Exponential {
            /// Mean, seconds.
            mean: f64 = required(|value| value.number(CENTRE)),
        },
        /// Log-normal, which fits measured reading and writing times.
        "log_normal" LogNormal {
            /// Median, seconds (exp(μ)).
            median: f64 = required(|value| value.number(CENTRE)),
            /// Standard deviation of the logarithm (σ).
            sigma: f64 = required(|value| value.number(SIGMA)),
        },
        /// Mixture of two log-normals. One is of tools that run, the other of people who read and write.
        "two_log_normals" TwoLogNormals {
            /// Median of the first, seconds.
            median: f64 = required(|value| value.number(CENTRE)),
            /// Standard deviation of its logarithm (σ).
            sigma: f64 = required(|value| value.number(SIGMA)),
            /// Median of the other, seconds.
            other_median: f64 = required(|value| value.number(CENTRE)),
            /// Standard deviation of its logarithm (σ).
            other_sigma: f64 = required(|value| value.number(SIGMA)),
            /// Share of the think times that are of the other, between 0 and 1.
            other_share: f64 = required(|value| value.number(SHARE)),
        },
    }
}

impl Default for ThinkTime {
    /// No think time.
    fn default() -> Self {
        Self::Constant { value: 0.0 }
    }
}

impl ThinkTime {
    /// Reads a distribution, or a number in place of a constant.
    pub(crate) fn read_or_constant(value: SpecValue<'_>) -> Option<Self> {
        if value.is_number() {
            return Some(Self::Constant { value: value.number(PAUSE)? });
        }
        Self::read(value)
    }

    /// The mean of a figure of two laws, weighted by their shares. It is that of a law by itself where there is one.
    fn weighted(&self, figure: impl Fn(&Self) -> f64) -> f64 {
        match *self {
            Self::TwoLogNormals { median, sigma, other_median, other_sigma, other_share } => {
                let other = figure(&Self::LogNormal { median: other_median, sigma: other_sigma });
                (1.0 - other_share) * figure(&Self::LogNormal { median, sigma }) + other_share * other
            }
            _ => figure(self),
        }
    }

    /// Expected square, s².
    pub fn mean_square_s2(&self) -> f64 {
        match *self {
            Self::Constant { value } => value * value,
            Self::Uniform { min, max } => (min * min + min * max + max * max) / 3.0,
            Self::Exponential { mean } => 2.0 * mean * mean,
            Self::LogNormal { median, sigma } => median * median * libm::exp(2.0 * sigma * sigma),
            Self::TwoLogNormals { .. } => self.weighted(Self::mean_square_s2),
        }
    }

    /// Expected value, seconds.
    pub fn mean_s(&self) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { min, max } => f64::midpoint(min, max),
            Self::Exponential { mean } => mean,
            // e^(μ + σ²/2)
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Self::TwoLogNormals { .. } => self.weighted(Self::mean_s),
        }
    }

    /// Returns the mean of a think time limited to `limit_s`, E[min(X, limit)]. It is the limited expected value
    /// (Klugman, Panjer and Willmot, *Loss Models*, 4th edition, section 3.1 and appendix A).
    pub fn mean_within_s(&self, limit_s: f64) -> f64 {
        let limit = limit_s.max(0.0);
        match *self {
            Self::Constant { value } => value.min(limit),
            Self::Uniform { min, max } => {
                let within = limit.clamp(min, max);
                let width = max - min;
                if width > 0.0 {
                    min.min(limit) + (within - min) * (1.0 - (within - min) / (2.0 * width))
                } else {
                    min.min(limit)
                }
            }
            Self::Exponential { mean } => -mean * libm::expm1(-limit / mean),
            Self::LogNormal { median, sigma } if limit > 0.0 => {
                let z = libm::log(limit / median) / sigma;
                self.mean_s() * normal_cdf(z - sigma) + limit * normal_cdf(-z)
            }
            Self::LogNormal { .. } => 0.0,
            Self::TwoLogNormals { .. } => self.weighted(|law| law.mean_within_s(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `quad(dist.sf, 0, t)[0]` of uniform(1, 3), expon(scale=30) and lognorm(.8, scale=5).
    #[test]
    fn the_mean_within_a_limit_is_the_area_under_the_survival() {
        let uniform = ThinkTime::Uniform { min: 1.0, max: 4.0 };
        let exponential = ThinkTime::Exponential { mean: 30.0 };
        let log_normal = ThinkTime::LogNormal { median: 5.0, sigma: 0.8 };
        for (law, limit, expected) in
            SCIPY_AREAS.map(|(law, limit, area)| ([uniform, exponential, log_normal][law], limit, area))
        {
            let found = law.mean_within_s(limit);
            assert!((found - expected).abs() < 1e-9, "{law:?} within {limit}: {found}, not {expected}");
        }
        let (other_median, other_sigma, other_share) = (40.0, 0.5, 0.25);
        let both = ThinkTime::TwoLogNormals { median: 5.0, sigma: 0.8, other_median, other_sigma, other_share };
        let other = ThinkTime::LogNormal { median: other_median, sigma: other_sigma };
        let expected = 0.75 * log_normal.mean_within_s(20.0) + 0.25 * other.mean_within_s(20.0);
        assert!((both.mean_within_s(20.0) - expected).abs() < 1e-9, "a quarter of the other law");
        for law in [uniform, exponential, log_normal, both, ThinkTime::Constant { value: 2.0 }] {
            assert!((law.mean_within_s(1e9) - law.mean_s()).abs() < 1e-9);
            assert_eq!((law.mean_within_s(0.0), law.mean_within_s(-1.0)), (0.0, 0.0));
        }
    }

    const SCIPY_AREAS: [(usize, f64, f64); 7] = [
        (0, 0.5, 0.500_000_000_000),
        (0, 2.0, 1.833_333_333_333),
        (0, 3.5, 2.458_333_333_333),
        (1, 10.0, 8.504_060_682_786),
        (1, 60.0, 25.939_941_502_902),
        (2, 3.0, 2.732_706_650_967),
        (2, 20.0, 6.508_785_700_460),
    ];
}
