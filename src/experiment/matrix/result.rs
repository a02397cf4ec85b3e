//! The table with its results, `matrix.json`: which variants meet the contract, and how a stored one ended.

use serde::{Deserialize, Serialize};

use super::cell::{CellContext, MatrixCell};
use super::decision::Decision;
use super::runs::CellRuns;
use super::table::{Claim, Experiments, MatrixSlot, MatrixVariable, Variant};
use super::tested::{Tested, TrustedRuns, per_gpu_trade};
use crate::analysis::Status;
use crate::experiment::driver::{FailedBy, RunFailure};
use crate::experiment::spoiled::{InvalidRuns, caution};

/// A table of experiments with its results, as stored in `matrix.json`. Unknown figures are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Matrix {
    /// Version of this format: [`Matrix::SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub skyline_version: String,
    /// Name of the table.
    pub name: String,
    /// Purpose of the table.
    pub description: String,
    /// Reason why nothing is confirmed and no variant accepted although there are figures. INVALID rows count on
    /// request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// The currency of all prices; absent where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Whether the runs were shorter than the table asks. Nothing is then confirmed or accepted. It is absent where
    /// they were not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rehearsal: bool,
    /// The servers, with their flags and commands.
    pub variants: Vec<Variant>,
    /// Rows and variants, in the order in which they ran. They go variant by variant, so that each is started once.
    pub cells: Vec<MatrixCell>,
    /// Decision by the contract; absent where there is none.
    pub decision: Option<Decision>,
    /// Reason why no more runs were started.
    pub stopped: MatrixStopped,
    /// Servers that could not be stopped after their rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unstopped: Vec<Unstopped>,
}

/// A server that could not be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unstopped {
    /// Name of the variant.
    pub variant: String,
    /// Reason why it could not be stopped.
    pub why: String,
}

impl Matrix {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;

    /// Compares what ran of `experiments` with what was expected. What did not run is not in it.
    pub fn new(
        experiments: &Experiments,
        cells_run: &[CellRuns],
        stopped: MatrixStopped,
        invalid: InvalidRuns,
    ) -> Self {
        let of = |cell| CellContext { experiments, cell };
        let cells: Vec<MatrixCell> = cells_run
            .iter()
            .filter(|cell| !cell.runs.is_empty() || cell.failed.is_some())
            .map(|cell| {
                let here = of(cell);
                let believed = here.believed(invalid);
                let test = |claim: &Claim| {
                    let other = claim.other().and_then(|other| experiments.meant(cell.slot, other));
                    let runs = other.map(|other| believed_at(experiments, cells_run, other, invalid));
                    let differing = other.map(|other| differing(experiments, cell.slot, other));
                    let differing = differing.unwrap_or_default();
                    Tested { differing, ..claim.test(&believed, runs.as_ref()) }
                };
                // A claim compares a row neither with itself nor with one that does not run.
                let is_made = |claim: &&Claim| {
                    let other = claim.other().map(|other| experiments.meant(cell.slot, other));
                    other.is_none_or(|other| {
                        other.is_some_and(|other| other != cell.slot && experiments.includes(other))
                    })
                };
                let claims = here.row().expect.iter().filter(is_made);
                let tests: Vec<Tested> = claims.map(test).collect();
                let first = first_of_row(experiments, cell.slot).filter(|first| *first != cell.slot);
                let first = first.map(|first| believed_at(experiments, cells_run, first, invalid));
                let per_gpu_trade = first.and_then(|first| per_gpu_trade(&believed, &first));
                MatrixCell { per_gpu_trade, ..here.judged(tests, invalid) }
            })
            .collect();
        let spoiled = cells.iter().filter(|cell| cell.is_spoiled() && invalid == InvalidRuns::Counted).count();
        let decision = experiments.accept.as_ref().map(|accept| Decision::new(experiments, accept, &cells));
        Self {
            schema: Self::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: experiments.name.clone(),
            description: experiments.description.clone(),
            caution: caution(spoiled, cells.len(), "row"),
            currency: experiments.currency.clone(),
            rehearsal: experiments.rehearsal,
            variants: experiments.variants.clone(),
            cells,
            decision,
            stopped,
            unstopped: Vec::new(),
        }
    }

    /// Whether a row is INVALID for other reasons than the server's own fault.
    pub fn has_unbelievable_rows(&self) -> bool {
        self.cells.iter().any(MatrixCell::is_spoiled)
    }

    /// Whether a row could not run.
    pub fn has_failed_rows(&self) -> bool {
        self.cells.iter().any(|cell| cell.failed.is_some())
    }

    /// Whether every hypothesis was confirmed, and some variant accepted if there is a contract.
    pub fn is_as_hoped(&self) -> bool {
        let confirmed = self.cells.iter().filter_map(|cell| cell.standing).all(|standing| standing == Status::Met);
        confirmed && self.decision.as_ref().is_none_or(|decision| decision.accepted().is_some())
    }
}

/// The row of `slot` under the first variant that it runs under.
fn first_of_row(experiments: &Experiments, slot: MatrixSlot) -> Option<MatrixSlot> {
    let mut slots = (0..experiments.variants.len()).map(|variant| MatrixSlot { variant, ..slot });
    slots.find(|slot| experiments.includes(*slot))
}

/// The trusted runs of the cell in `slot`.
fn believed_at<'a>(
    experiments: &'a Experiments,
    cells_run: &'a [CellRuns],
    slot: MatrixSlot,
    invalid: InvalidRuns,
) -> TrustedRuns<'a> {
    let name = &experiments.rows[slot.row].name;
    let cell = cells_run.iter().find(|cell| cell.slot == slot);
    let nothing = || Err(format!("row {name} did not run"));
    cell.map_or_else(nothing, |cell| CellContext { experiments, cell }.believed(invalid))
}

/// The variables in which two cells differ.
fn differing(experiments: &Experiments, one: MatrixSlot, other: MatrixSlot) -> Vec<MatrixVariable> {
    let settings = |slot: MatrixSlot| &experiments.rows[slot.row].settings;
    let mut variables = settings(one).differences(settings(other));
    if one.variant != other.variant {
        variables.push(MatrixVariable::Variant);
    }
    variables
}

/// End of a table, from `matrix.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Ended {
    /// Version of the file's format.
    pub schema: u32,
    cells: Vec<EndedCell>,
    /// Reason why no more runs were started.
    pub stopped: MatrixStopped,
    /// Servers that could not be stopped after their rows.
    #[serde(default)]
    pub unstopped: Vec<Unstopped>,
}

/// Row under a variant, with what kept it from running.
#[derive(Clone, Debug, Deserialize)]
struct EndedCell {
    row: String,
    variant: String,
    failed: Option<String>,
    #[serde(default)]
    failed_by: Option<FailedBy>,
}

impl Ended {
    /// Adds to `runs` why there are no more. They are the stored ones of the row in `slot`. The result is `None` where
    /// the row never began.
    pub fn completed(&self, experiments: &Experiments, slot: MatrixSlot, runs: CellRuns) -> Option<CellRuns> {
        let (row, variant) = (&experiments.rows[slot.row].name, &experiments.variants[slot.variant].name);
        let ended = self.cells.iter().find(|cell| cell.row == *row && cell.variant == *variant);
        let failed = ended.and_then(|cell| {
            let by = cell.failed_by.unwrap_or(FailedBy::Server);
            Some(RunFailure { why: cell.failed.clone()?, by })
        });
        (failed.is_some() || !runs.runs.is_empty()).then_some(CellRuns { failed, ..runs })
    }
}

/// Reason why no more runs were started.
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
    /// Only some rows were requested.
    OnlySome {
        /// Their names.
        rows: Vec<String>,
    },
    /// The user stopped it.
    Interrupted,
}
