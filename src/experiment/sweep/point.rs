//! One load of a sweep: its runs and their joint figures.

use serde::{Deserialize, Serialize};

use super::plan::Load;
use super::trial::Trial;
use crate::analysis::{FigureKey, FigureSet, Metric, Quantile, Summary};
use crate::experiment::paired_open::PairedOpen;

/// One load of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// The load.
    pub load: Load,
    /// Whether it meets the objectives.
    pub class: LoadClass,
    /// The objective that it misses or comes closest to missing, as typed; absent without objectives.
    pub tightest: Option<String>,
    /// Its runs, in their order.
    pub trials: Vec<Trial>,
    /// Their figures together.
    #[cfg_attr(test, schemars(schema_with = "figures_schema"))]
    pub figures: FigureSet,
}

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
fn figures_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let figure = generator.subschema_for::<Option<crate::analysis::AcrossRuns>>();
    schemars::json_schema!({
        "description": "The figures of a load over its runs, with intervals; null where no run has them.",
        "type": "object",
        "properties": crate::analysis::schema(followed(), &figure),
        "additionalProperties": false,
    })
}

/// Whether a load meets the objectives, from all of its runs (after RFC 9971, section 6: lower bound, upper bound,
/// undecided).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadClass {
    /// It does: a lower bound of the highest load.
    Passed,
    /// It does not: an upper bound.
    Failed,
    /// The server does not keep up: an upper bound whatever the latencies, which depend on the length of the run.
    Saturated,
    /// Its runs disagree.
    Undecided,
    /// Nothing is known: no run can be trusted, or none has the figure.
    Unknown,
    /// There are no objectives, and the server kept up.
    Measured,
}

/// A closed loop beside the open run at the same throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairedLoad {
    /// Number of users.
    pub users: u64,
    /// Name of the closed run's folder in the sweep's.
    pub run: String,
    /// Both runs.
    pub pair: PairedOpen,
}
