//! The table when it has been flown: `matrix.json`.

use serde::{Deserialize, Serialize};

use super::cell::{Cell, CellRuns, Flown, Trust};
use super::claim::Claim;
use super::decision::{Decision, Stopped};
use super::file::{Experiments, Slot};
use super::tested::{Believed, Standing, Tested};
use super::variable::Variable;
use super::variant::Variant;

/// A table of experiments with what was found; `matrix.json` is this. What there is nothing to say about is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Matrix {
    /// Version of this format: [`Matrix::SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub skyline_version: String,
    /// Name of the table.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The servers, with their flags and commands.
    pub variants: Vec<Variant>,
    /// Rows and variants, in the order in which they were flown: variant by variant, so that each is started once.
    pub cells: Vec<Cell>,
    /// What was decided; absent where there is no contract.
    pub decision: Option<Decision>,
    /// Why no more was flown.
    pub stopped: Stopped,
    /// Servers that could not be ended after their rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unstopped: Vec<Unstopped>,
}

/// A server that may serve on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unstopped {
    /// Name of the variant.
    pub variant: String,
    /// Why it could not be ended.
    pub why: String,
}

impl Matrix {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Holds what was flown of `experiments` against what was expected of it. What was not flown is not there.
    #[must_use]
    pub fn of(experiments: &Experiments, flown: &[CellRuns], stopped: Stopped, trust: Trust) -> Self {
        let of = |cell| flown_of(experiments, cell);
        let cells: Vec<Cell> = flown
            .iter()
            .filter(|cell| !cell.runs.is_empty() || cell.failed.is_some())
            .map(|cell| {
                let here = of(cell);
                let believed = here.believed(trust);
                let test = |claim: &Claim| {
                    let other = claim.other().and_then(|other| experiments.meant(cell.slot, other));
                    let runs = other.map(|other| believed_at(experiments, flown, other, trust));
                    let differing = other.map(|other| differing(experiments, cell.slot, other));
                    let differing = differing.unwrap_or_default();
                    Tested { differing, ..claim.test(&believed, runs.as_ref()) }
                };
                // Nothing is claimed of a row beside itself, nor beside one that is not flown.
                let is_made = |claim: &&Claim| {
                    let other = claim.other().map(|other| experiments.meant(cell.slot, other));
                    other.is_none_or(|other| {
                        other.is_some_and(|other| other != cell.slot && experiments.flies(other))
                    })
                };
                let claims = here.row.expect.iter().filter(is_made);
                let tests: Vec<Tested> = claims.map(test).collect();
                here.judged(&experiments.rows[0], tests, experiments.accept.as_ref(), trust)
            })
            .collect();
        let decision = experiments.accept.as_ref().map(|accept| Decision::of(experiments, accept, &cells));
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: experiments.name.clone(),
            description: experiments.description.clone(),
            variants: experiments.variants.clone(),
            cells,
            decision,
            stopped,
            unstopped: Vec::new(),
        }
    }

    /// Whether there is a row whose figures cannot be believed for other reasons than the server's own doing.
    #[must_use]
    pub fn has_unbelievable_rows(&self) -> bool {
        self.cells.iter().any(|cell| cell.valid == Some(false) && !cell.saturated)
    }

    /// Whether a row could not be flown.
    #[must_use]
    pub fn has_failed_rows(&self) -> bool {
        self.cells.iter().any(|cell| cell.failed.is_some())
    }

    /// Whether every hypothesis was confirmed, and some variant accepted where there is a contract.
    #[must_use]
    pub fn is_as_hoped(&self) -> bool {
        let confirmed = self
            .cells
            .iter()
            .filter_map(|cell| cell.standing)
            .all(|standing| standing == Standing::Confirmed);
        confirmed && self.decision.as_ref().is_none_or(|decision| decision.accepted().is_some())
    }
}

/// What is known of it.
fn believed_at<'a>(
    experiments: &'a Experiments,
    flown: &'a [CellRuns],
    slot: Slot,
    trust: Trust,
) -> Believed<'a> {
    let name = &experiments.rows[slot.row].name;
    let cell = flown.iter().find(|cell| cell.slot == slot);
    let nothing = || Believed::No(format!("row {name} was not flown"));
    cell.map_or_else(nothing, |cell| flown_of(experiments, cell).believed(trust))
}

/// The variables in which two rows under their variants differ.
fn differing(experiments: &Experiments, one: Slot, other: Slot) -> Vec<Variable> {
    let settings = |slot: Slot| &experiments.rows[slot.row].settings;
    let mut variables = settings(one).differences(settings(other));
    if one.variant != other.variant {
        variables.push(Variable::Variant);
    }
    variables
}

fn flown_of<'a>(experiments: &'a Experiments, cell: &'a CellRuns) -> Flown<'a> {
    let Slot { row, variant } = cell.slot;
    Flown { row: &experiments.rows[row], variant: &experiments.variants[variant], cell }
}
