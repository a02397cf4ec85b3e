//! The contract: what makes a variant good enough, agreed on before anything runs.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::analysis::Objective;
use crate::workload::reading::{Allowed, SpecValue};

/// A cost.
const COST: Allowed = Allowed::above(0.0, 1e12);

/// What a variant must meet to be accepted, and when to stop.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Accept {
    /// Objectives for every row that counts, under each variant.
    pub objectives: Vec<Objective>,
    /// The rows that count, by name; absent: all.
    pub rows: Option<Vec<String>>,
    /// What a million output tokens may cost in each of these rows, in the currency of `gpu_hour`.
    pub max_cost_per_million_output_tokens: Option<f64>,
    /// When to stop.
    pub stop_when: StopWhen,
}

/// When the search for a variant ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StopWhen {
    /// When all have run.
    #[default]
    AllRun,
    /// When one has been accepted.
    FirstAccepted,
}

impl Accept {
    pub(super) fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a contract", |fields| {
            let cost = "max_cost_per_million_output_tokens";
            let accept = Self {
                objectives: fields.or("objectives", Vec::new(), |place| {
                    Some(place.list(objectives)?.into_iter().flatten().collect())
                }),
                rows: fields.maybe("rows", |place| place.list(|place| place.name())),
                max_cost_per_million_output_tokens: fields.maybe(cost, |place| place.number(COST)),
                stop_when: fields.or("stop_when", StopWhen::default(), |place| {
                    // Its name before matrix.json had schema 2.
                    let before = place.text_or_none().filter(|text| *text == "all_flown");
                    before.map(|_| StopWhen::AllRun).or_else(|| place.variant())
                }),
            };
            if !fields.is_spoiled()
                && accept.objectives.is_empty()
                && accept.max_cost_per_million_output_tokens.is_none()
            {
                return fields
                    .reject("asks for nothing; give objectives, such as [\"p95 ttft < 1s\"], or leave it out");
            }
            Some(accept)
        })
    }

    /// Whether the row of this name counts.
    pub fn counts(&self, row: &str) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.iter().any(|name| name == row))
    }
}

/// An objective, or those that a preset stands for.
pub(in crate::experiment) fn objectives(place: SpecValue<'_>) -> Option<Vec<Objective>> {
    let text = place.text()?;
    let read = Objective::all_of(&text);
    read.map_err(|error| place.complain(&format!("is {text:?}, which is no objective: {}", error.cure()))).ok()
}
