//! Clients that each send requests at their own rate.

use serde::Serialize;

use super::gaps::{CV, GapFamily, GapForm};
use crate::random::normal_quantile;
use crate::workload::lengths::weights::{SKEW, zipf};
use crate::workload::limits::RATE;
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::value::SpecValue;

/// At 5 the largest of 100 clients sends nearly everything.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);

/// One client: independent gaps with mean 1/rate.
///
/// Most burstiness in production comes from a few large clients (`ServeGen`: Xiang et al., *Workload Characterization
/// and Generation of Large Language Model Serving in Production*, arXiv 2505.09999).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Client {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Coefficient of variation of the gaps: 1 is Poisson, above 1 burstier; 1 when the file gives none.
    pub cv: f64,
    /// Family of the gaps; gamma when the file gives none.
    pub gaps: GapFamily,
}

/// How a total rate is divided among the clients of a population, the largest first. The shares are quantiles, not
/// draws: every seed and every repeat has the same clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RateSpread {
    /// All clients have the same rate.
    Equal,
    /// The i-th client's rate is proportional to 1/i^exponent.
    Zipf {
        /// 0 makes all alike; at 1 the first ten of 100 clients send 56 % of the requests.
        exponent: f64,
    },
    /// Log-normal: the i-th of n rates is proportional to exp(sigma·Φ⁻¹(1 − (i − ½)/n)).
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
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
            Self::LogNormal { sigma } => (1..=clients)
                .map(|i| libm::exp(sigma * normal_quantile(1.0 - (i as f64 - 0.5) / n)))
                .collect(),
        };
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| total_per_s * weight / all).collect()
    }
}

impl Client {
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a client", |fields| {
            let rate_per_s = fields.required("rate_per_s", |value| value.number(RATE));
            let cv = fields.optional("cv", 1.0, |value| value.number(CV));
            let gaps = fields.optional("gaps", GapFamily::default(), |value| value.variant());
            Some(Self { rate_per_s: rate_per_s?, cv: cv?, gaps: gaps? })
        })
    }
}

impl RateSpread {
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.tagged(
            "spread",
            &[
                ("equal", |_| Some(Self::Equal)),
                ("zipf", |fields| {
                    let exponent = fields.required("exponent", |value| value.number(SKEW))?;
                    Some(Self::Zipf { exponent })
                }),
                ("log_normal", |fields| {
                    let sigma = fields.required("sigma", |value| value.number(SIGMA))?;
                    Some(Self::LogNormal { sigma })
                }),
            ],
        )
    }
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
        assert!(
            log_normal.iter().zip(LOG_NORMAL).all(|(rate, scipy)| (rate - scipy).abs() < 1e-9),
            "{log_normal:?}"
        );
    }

    const LOG_NORMAL: [f64; 5] = [
        6.428_979_687_908_303,
        2.064_915_419_412_021,
        0.940_342_129_288_044_8,
        0.428_222_537_253_249_7,
        0.137_540_226_138_382_24,
    ];
}
