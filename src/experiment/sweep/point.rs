//! One load of a sweep with all its runs, and whether it meets the objectives.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::trial::Trial;
use crate::analysis::{Accuracy, FigureSet};

/// One load of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// The load.
    pub load: Load,
    /// Whether it meets the objectives.
    pub class: LoadClass,
    /// Whether it meets the objectives of each tier, in their order. Empty without tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<LoadClass>,
    /// The objective that it misses or comes closest to missing, as typed; absent without objectives.
    pub tightest: Option<String>,
    /// Scores of the answers of its runs together. Left out where none is scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Its runs, in their order.
    pub trials: Vec<Trial>,
    /// Their figures together.
    #[cfg_attr(test, schemars(schema_with = "figures_schema"))]
    pub figures: FigureSet,
}

/// Class of a load from all of its runs, by whether it meets the objectives. It follows RFC 9971, section 6: lower
/// bound, upper bound, undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LoadClass {
    /// Load that meets the objectives: a lower bound of the highest load.
    Passed,
    /// Load that does not meet the objectives: an upper bound.
    Failed,
    /// Load with which the server does not keep up: an upper bound. It is one whatever the latencies, which depend on
    /// the length of the run.
    Saturated,
    /// Load whose runs cannot tell, or disagree.
    Undecided,
    /// Nothing is known: no run can be trusted, or none has the figure.
    Unknown,
    /// Load without objectives, with which the server kept up.
    Measured,
}

#[cfg(test)]
fn figures_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let figure = generator.subschema_for::<Option<crate::analysis::AcrossRuns>>();
    schemars::json_schema!({
        "description": "The figures of a load over its runs, with intervals; null where no run has them.",
        "type": "object",
        "properties": crate::analysis::schema(crate::analysis::selections::of_loads(), &figure),
        "additionalProperties": false,
    })
}
