//! What a row gains under another variant at the price of throughput per GPU.

use super::ratio::{ratio, shared_first};
use super::tested::TrustedRuns;
use crate::analysis::{AcrossRuns, FigureKey, Metric, Quantile};
use crate::experiment::trade::PerGpuTrade;

/// The figures of a row in which the same row under another variant may be better at the price of each GPU.
static TRADED: [FigureKey; 4] = [
    FigureKey::percentile(Quantile::P50, Metric::Ttft),
    FigureKey::percentile(Quantile::P50, Metric::Tpot),
    FigureKey::percentile(Quantile::P50, Metric::E2e),
    FigureKey::from_metric(Metric::OutputTokensPerGpu),
];

impl TrustedRuns<'_> {
    /// What these runs gain over those of `first` at the price of tokens per GPU, where the intervals of both
    /// ratios leave chance no room.
    pub(super) fn per_gpu_trade(&self, first: &Self) -> Option<PerGpuTrade> {
        let (Self::Runs(runs), Self::Runs(first)) = (self, first) else { return None };
        let changed = |key: &FigureKey| {
            let (runs, first) = (shared_first(runs, first), shared_first(first, runs));
            let ratio = ratio(&AcrossRuns::new(key, &runs), &AcrossRuns::new(key, &first))?;
            Some((key.clone(), ratio.value - 1.0, ratio.excludes(1.0)))
        };
        PerGpuTrade::from_changes(TRADED.iter().filter_map(changed))
    }
}
