//! The figures that sweeps follow: of each run, and of a load over its runs.

use crate::analysis::{FigureKey, FigureSet, Metric, Quantile, Summary};

/// Percentiles of each latency that sweeps follow.
const QUANTILES: [Quantile; 3] = [Quantile::P50, Quantile::P95, Quantile::P99];
/// The latencies.
const LATENCIES: [Metric; 3] = [Metric::Ttft, Metric::Tpot, Metric::E2e];
/// The other figures.
const OTHERS: [Metric; 9] = [
    Metric::Goodput,
    Metric::SloAttainment,
    Metric::ErrorRate,
    Metric::RequestRate,
    Metric::InputTokens,
    Metric::OutputTokens,
    Metric::OutputTokensPerGpu,
    Metric::TokensPerUser,
    Metric::InFlight,
];

/// The figures that sweeps follow.
pub(in crate::experiment) fn followed() -> impl Iterator<Item = FigureKey> {
    let latencies = LATENCIES
        .into_iter()
        .flat_map(|metric| QUANTILES.map(|quantile| FigureKey::percentile(quantile, metric)));
    latencies.chain(OTHERS.map(FigureKey::of))
}

/// The figures of a run of a sweep.
pub(super) fn of_run(run: &Summary) -> FigureSet {
    let figures = FigureSet::of(followed(), &[run]);
    // Without SLOs goodput would equal the completed requests.
    if run.slo.declared { figures } else { figures.with(&FigureKey::of(Metric::Goodput), None) }
}

#[cfg(test)]
pub(super) fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let figure = generator.subschema_for::<Option<crate::analysis::AcrossRuns>>();
    schemars::json_schema!({
        "description": "The figures of a load over its runs, with intervals; null where no run has them.",
        "type": "object",
        "properties": crate::analysis::schema(followed(), &figure),
        "additionalProperties": false,
    })
}
