//! The contract: what makes a variant good enough, agreed on before anything runs.

use serde::Serialize;
use strum::{EnumString, VariantNames};

use crate::analysis::Objective;
use crate::workload::reading::{Allowed, Fields, SpecValue, spec_table};

/// A cost.
const COST: Allowed = Allowed::above(0.0, 1e12);

spec_table! {
    /// What a variant must meet to be accepted, and when to stop.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Accept = "a contract" {
        /// Objectives for every row that counts, under each variant.
        objectives: Vec<Objective> = optional(Vec::new(), objectives),
        /// The rows that count, by name; absent: all.
        rows: Option<Vec<String>> = option(|place| place.list(|place| place.name())),
        /// What a million output tokens may cost in each of these rows, in the currency of `gpu_hour`.
        max_cost_per_million_output_tokens: Option<f64> = option(|place| place.number(COST)),
        /// When to stop.
        stop_when: StopWhen = optional(StopWhen::default(), |place| {
            // Its name before matrix.json had schema 2.
            let before = place.text_or_none().filter(|text| *text == "all_flown");
            before.map(|_| StopWhen::AllRun).or_else(|| place.variant())
        }),
    }
    then(something)
}

fn something(fields: &Fields<'_>, accept: &Accept) -> Option<()> {
    if accept.objectives.is_empty() && accept.max_cost_per_million_output_tokens.is_none() {
        return fields.reject("asks for nothing; give objectives, such as [\"p95 ttft < 1s\"], or leave it out");
    }
    Some(())
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
    /// Whether the row of this name counts.
    pub fn counts(&self, row: &str) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.iter().any(|name| name == row))
    }
}

/// Objectives, of which a preset stands for several.
pub(in crate::experiment) fn objectives(place: SpecValue<'_>) -> Option<Vec<Objective>> {
    let read = |place: SpecValue<'_>| {
        let text = place.text()?;
        let read = Objective::all_of(&text);
        read.map_err(|error| place.complain(&format!("is {text:?}, which is no objective: {}", error.cure()))).ok()
    };
    Some(place.list(read)?.concat())
}
