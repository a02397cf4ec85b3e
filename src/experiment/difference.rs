//! How B differs from A: the scale of their difference by a figure, and a latency gained at the price of each GPU.

use serde::Serialize;

use crate::analysis::{FigureKey, FigureKind, Metric};
use crate::units::{percent, three_digits};

/// Scale on which two figures are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DifferenceScale {
    /// B ÷ A on a logarithmic scale, for latencies and rates.
    Ratio,
    /// B − A, for shares and for figures that are 0 in some run.
    Difference,
}

impl DifferenceScale {
    /// The scale of figures of this kind that are all above 0.
    pub(super) fn from_kind(kind: FigureKind) -> Self {
        if kind == FigureKind::Share { Self::Difference } else { Self::Ratio }
    }

    /// The place of B against A.
    pub(super) fn between(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Ratio => libm::log(b / a),
            Self::Difference => b - a,
        }
    }

    /// The ratio or difference that `shift` stands for.
    pub(super) fn place(self, shift: f64) -> f64 {
        match self {
            Self::Ratio => libm::exp(shift),
            Self::Difference => shift,
        }
    }

    /// Returns a length as a share of A or in the figure's unit. It is a length on the scale, such as a spread.
    pub(super) fn length(self, shift: f64) -> f64 {
        match self {
            Self::Ratio => libm::expm1(shift),
            Self::Difference => shift,
        }
    }

    /// The shift of that length.
    pub(super) fn shift(self, length: f64) -> f64 {
        match self {
            Self::Ratio => libm::log1p(length),
            Self::Difference => length,
        }
    }

    /// A length in words, of a figure of this kind: `5 %`, `0.5 points`.
    pub(super) fn in_words(self, kind: FigureKind, length: f64) -> String {
        match (self, kind) {
            (Self::Ratio, _) => percent(length),
            (Self::Difference, FigureKind::Share) => format!("{} points", three_digits(length * 100.0)),
            (Self::Difference, FigureKind::Latency) => format!("{} ms", three_digits(length)),
            (Self::Difference, FigureKind::Rate) => format!("{}/s", three_digits(length)),
            (Self::Difference, FigureKind::Count | FigureKind::Cost) => three_digits(length),
        }
    }
}

/// Latency that fell together with the output tokens per second and GPU. Both did so by more than chance, while no
/// other grew: more GPUs for each answer make it faster, and each of them makes fewer tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PerGpuTrade {
    /// The latency.
    pub latency: FigureKey,
    /// Its change, a share of the baseline's: below 0.
    pub latency_change: f64,
    /// The change of the output tokens per second and GPU, likewise: below 0.
    pub per_gpu_change: f64,
}

/// Latencies that grow by no more than this share do not count as slower.
const SLOWER: f64 = 0.05;

impl PerGpuTrade {
    /// Returns the trade among changes; `None` where there is none. Each change is a share of the baseline, and whether
    /// it is more than chance.
    pub(in crate::experiment) fn from_changes(changes: impl Iterator<Item = (FigureKey, f64, bool)>) -> Option<Self> {
        let all: Vec<_> = changes.filter(|(key, ..)| key.part.is_none()).collect();
        let is_felt = |key: &FigureKey| Metric::MAIN_AND_ITL.contains(&key.metric);
        if all.iter().any(|(key, change, _)| is_felt(key) && *change > SLOWER) {
            return None;
        }
        let fell: Vec<_> = all.into_iter().filter(|(_, change, is_sure)| *change < 0.0 && *is_sure).collect();
        let per_gpu = FigureKey::from_metric(Metric::OutputTokensPerGpu);
        let per_gpu_change = fell.iter().find(|(key, ..)| *key == per_gpu)?.1;
        let (latency, latency_change, _) = fell.into_iter().find(|(key, ..)| is_felt(key))?;
        Some(Self { latency, latency_change, per_gpu_change })
    }

    /// Returns the trade of a side in words. They are like
    /// `tp2 answers faster and makes fewer tokens with each GPU: p50 TTFT −36 %, …`.
    pub fn in_words(&self, side: &str) -> String {
        let [latency, per_gpu] = [self.latency_change, self.per_gpu_change].map(|by| percent(by.abs()));
        let (name, tokens) = (self.latency.title(), Metric::OutputTokensPerGpu.title());
        format!("{side} answers faster and makes fewer tokens with each GPU: {name} −{latency}, {tokens} −{per_gpu}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trade(sure: &[(&str, f64)]) -> Option<PerGpuTrade> {
        PerGpuTrade::from_changes(sure.iter().map(|(key, change)| (key.parse().unwrap(), *change, true)))
    }

    #[test]
    fn it_takes_both() {
        let both = trade(&[("p50 ttft", -0.36), ("p99 e2e", -0.2), ("output_tokens_per_s_per_gpu", -0.5)]);
        assert_eq!(
            both.unwrap().in_words("tp2"),
            "tp2 answers faster and makes fewer tokens with each GPU: p50 TTFT −36 %, output tokens/s per GPU −50 %"
        );
        for other in [
            &[("p50 ttft", -0.36)][..],
            &[("output_tokens_per_s_per_gpu", -0.5)],
            &[("p50 ttft", 0.36), ("output_tokens_per_s_per_gpu", -0.5)],
            &[("p50 ttft", -0.36), ("output_tokens_per_s_per_gpu", 0.5)],
            &[("p50 ttft of chat", -0.36), ("output_tokens_per_s_per_gpu", -0.5)],
            &[("p50 schedule_lag", -0.36), ("output_tokens_per_s_per_gpu", -0.5)],
            &[("p50 tpot", -0.36), ("output_tokens_per_s_per_gpu", -0.5), ("p95 ttft", 10.98)],
        ] {
            assert_eq!(trade(other), None, "{other:?}");
        }
    }
}
