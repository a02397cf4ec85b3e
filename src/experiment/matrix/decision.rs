//! The decision: which variants meet the contract.

use serde::{Deserialize, Serialize};

use super::cell::MatrixCell;
use super::table::{Accept, Experiments, Variant};
use crate::experiment::driver::FailedBy;

/// The decision by the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decision {
    /// The contract.
    pub contract: Accept,
    /// Every variant, in the order of the file, failed ones included.
    pub variants: Vec<VariantDecision>,
}

/// The decision on a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantDecision {
    /// Its name.
    pub variant: String,
    /// Its standing.
    pub standing: VariantStanding,
    /// Why it was rejected or is undecided, by row.
    pub reasons: Vec<String>,
}

/// The standing of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VariantStanding {
    /// Every row that counts met the contract.
    Accepted,
    /// One did not, or the server failed.
    Rejected,
    /// Rows that count did not complete or cannot be trusted, and none of the others broke the contract.
    Undecided,
}

/// Why no more runs were started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MatrixStopped {
    /// All of them ran.
    #[serde(alias = "all_flown")]
    AllRun,
    /// A variant had been accepted, and one was enough.
    FirstAccepted {
        /// Its name.
        variant: String,
    },
    /// Only some rows were asked for.
    OnlySome {
        /// Their names.
        rows: Vec<String>,
    },
    /// The user stopped it.
    Interrupted,
}

impl Decision {
    pub(super) fn of(experiments: &Experiments, accept: &Accept, cells: &[MatrixCell]) -> Self {
        let variants =
            experiments.variants.iter().map(|variant| decided(experiments, accept, variant, cells));
        Self { contract: accept.clone(), variants: variants.collect() }
    }

    /// The first variant that was accepted.
    pub fn accepted(&self) -> Option<&VariantDecision> {
        self.variants.iter().find(|variant| variant.standing == VariantStanding::Accepted)
    }
}

fn decided(
    experiments: &Experiments,
    accept: &Accept,
    variant: &Variant,
    cells: &[MatrixCell],
) -> VariantDecision {
    let (mut broken, mut open) = (Vec::new(), Vec::new());
    let mut any = false;
    for row in experiments.rows.iter().filter(|row| accept.counts(&row.name) && row.is_under(&variant.name)) {
        any = true;
        let name = &row.name;
        let cell = cells.iter().find(|cell| cell.row == *name && cell.variant == variant.name);
        match cell {
            Some(MatrixCell { failed: Some(why), failed_by, .. }) => {
                // A failure of the client says nothing about the variant.
                let list = if *failed_by == Some(FailedBy::Client) { &mut open } else { &mut broken };
                list.push(format!("row {name} could not be run: {why}"));
            }
            Some(MatrixCell { contract: Some(contract), .. }) => {
                let missed = contract.judgements.iter().filter(|demand| !demand.met);
                broken.extend(missed.map(|demand| format!("row {name}: {}", demand.line)));
            }
            Some(cell) if cell.valid == Some(false) && !cell.saturated => {
                open.push(format!("row {name} is INVALID"));
            }
            Some(cell) => {
                let (completed, of) = (cell.runs.len(), cell.planned_runs);
                open.push(format!("row {name}: {completed} of {of} runs completed"));
            }
            None => open.push(format!("row {name} was not run")),
        }
    }
    if !any {
        open.push("no row that counts runs under it".to_owned());
    }
    let (standing, reasons) = match (broken.is_empty(), open.is_empty()) {
        (true, true) => (VariantStanding::Accepted, Vec::new()),
        (true, false) => (VariantStanding::Undecided, open),
        (false, _) => (VariantStanding::Rejected, broken),
    };
    VariantDecision { variant: variant.name.clone(), standing, reasons }
}
