//! The figures that a comparison of runs is about.

use std::collections::BTreeSet;

use super::side::ComparedSide;
use crate::analysis::{FigureKey, Metric, Quantile, Statistic, Unit};

/// The compared figures.
static SUBJECTS: [FigureKey; 20] = [
    FigureKey::percentile(Quantile::P50, Metric::Ttft),
    FigureKey::percentile(Quantile::P95, Metric::Ttft),
    FigureKey::percentile(Quantile::P99, Metric::Ttft),
    FigureKey::percentile(Quantile::P50, Metric::Tpot),
    FigureKey::percentile(Quantile::P99, Metric::Tpot),
    FigureKey::percentile(Quantile::P99, Metric::Itl),
    FigureKey::percentile(Quantile::P50, Metric::E2e),
    FigureKey::percentile(Quantile::P99, Metric::E2e),
    FigureKey::from_metric(Metric::RequestRate),
    FigureKey::from_metric(Metric::OutputTokens),
    FigureKey::from_metric(Metric::OutputTokensPerGpu),
    FigureKey::from_metric(Metric::Goodput),
    FigureKey::from_metric(Metric::SloAttainment),
    FigureKey::from_metric(Metric::ErrorRate),
    FigureKey::from_metric(Metric::CostPerMillionOutputTokens),
    FigureKey::from_metric(Metric::CostPerAnswer),
    FigureKey::from_metric(Metric::CostPerAcceptableAnswer),
    FigureKey::from_metric(Metric::EnergyPerMillionOutputTokens),
    FigureKey::from_metric(Metric::EnergyPerAnswer),
    FigureKey::from_metric(Metric::EnergyPerAcceptableAnswer),
];

/// Those, and of each latency that a user feels the percentiles that sides were run to show and that all of them have.
pub(super) fn subjects(sides: &[&ComparedSide]) -> Vec<FigureKey> {
    let asked: BTreeSet<Quantile> = sides.iter().flat_map(|side| side.asked()).collect();
    let shows = |side: &&ComparedSide, quantile| side.asked().any(|asked| asked == quantile);
    let is_of_all = |quantile: &Quantile| quantile.is_usual() || sides.iter().all(|side| shows(side, *quantile));
    let fraction = |key: &FigureKey| key.statistic.and_then(Statistic::fraction).unwrap_or(0.0);
    let is_shared = sides.iter().any(|side| side.has_several_gpus());
    let has_one_currency = sides.windows(2).all(|pair| pair[0].currency() == pair[1].currency());
    let mut keys = SUBJECTS.to_vec();
    keys.retain(|key| match key.metric.info().unit {
        Unit::MONEY => has_one_currency,
        // Of one GPU it is the rate itself.
        _ => key.metric != Metric::OutputTokensPerGpu || is_shared,
    });
    for quantile in asked.into_iter().filter(is_of_all) {
        for key in Metric::MAIN.map(|metric| FigureKey::latency(Statistic::Percentile(quantile), metric)) {
            let lower = |known: &FigureKey| known.metric == key.metric && fraction(known) < quantile.fraction();
            if !keys.contains(&key) {
                let place = keys.iter().rposition(lower).map(|place| place + 1);
                let first = keys.iter().position(|known| known.metric == key.metric).unwrap_or(0);
                keys.insert(place.unwrap_or(first), key);
            }
        }
    }
    keys
}
