//! The result of a row under a variant.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::runs::{CellRuns, RowRun};
use super::table::{Experiments, MatrixRow, MatrixVariable};
use super::tested::{ContractResult, Tested, TrustedRuns, cost, in_claim_words};
use crate::analysis::{
    AcrossRuns, FigureLevel, FigureSet, Reason, Rule, Status, Summary, Verdict, VerdictOutcome, selections,
};
use crate::experiment::difference::PerGpuTrade;
use crate::experiment::driver::FailedBy;
use crate::experiment::repeats::Repeats;
use crate::experiment::spoiled::{self, InvalidRuns, SERVER_RULES, spoiled_by};

/// The result of a row under a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MatrixCell {
    /// Name of the row.
    pub row: String,
    /// Name of the variant.
    pub variant: String,
    /// The question.
    pub question: Option<String>,
    /// The hypothesis, in words.
    pub hypothesis: Option<String>,
    /// The variables of the experiment, with their values here.
    pub variables: BTreeMap<&'static str, String>,
    /// Variables that differ from the first row.
    pub changed: Vec<MatrixVariable>,
    /// Planned runs.
    pub planned_runs: u64,
    /// Runs that completed, spare ones included.
    pub runs: Vec<CellRun>,
    /// Spoiled ones of them in words, and whether they are replaced. Absent where no spare one ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spoiled: Option<String>,
    /// Verdict on its runs together; absent where there are none.
    pub outcome: Option<VerdictOutcome>,
    /// Whether the figures can be trusted; absent where there are none.
    pub valid: Option<bool>,
    /// Whether the only reason is that the server did not keep up or failed requests. That is the server's own fault,
    /// and counts against it.
    pub saturated: bool,
    /// Reasons why it is not VALID.
    pub reasons: Vec<String>,
    /// Reason why the row could not run, or did not complete.
    pub failed: Option<String>,
    /// Cause of the failure, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_by: Option<FailedBy>,
    /// The figures, by name; what no run has is not there.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(schema_with = "by_name_schema"))]
    pub figures: FigureSet,
    /// Cost of a million output tokens, in the currency of the price.
    pub cost_per_million_output_tokens: Option<f64>,
    /// Latency that is better than under the first variant, with fewer tokens of each GPU. It is absent where that is
    /// not so, or may be chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_gpu_trade: Option<PerGpuTrade>,
    /// Result of the hypothesis, as of its least favourable claim; absent where it claims nothing.
    #[serde(serialize_with = "in_claim_words")]
    #[cfg_attr(test, schemars(schema_with = "claim_words"))]
    pub standing: Option<Status>,
    /// Result of each claim.
    pub tests: Vec<Tested>,
    /// Result of the contract. Absent where the row does not count, did not complete, or cannot be trusted.
    pub contract: Option<ContractResult>,
}

/// One run of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CellRun {
    /// Its folder inside that of the table.
    pub folder: String,
    /// Seed of its schedule.
    pub seed: u64,
    /// SHA-256 of its plan.
    pub plan_hash: String,
    /// Wall-clock time of the run's start.
    pub started_at: jiff::Timestamp,
    /// Verdict on the run by itself.
    pub outcome: VerdictOutcome,
    /// Whether its own figures can be trusted.
    pub valid: bool,
    /// Whether it was spoiled, and another run replaces it; absent where that is not so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
}

/// A figure of a row as it is stored.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RowFigure<'a> {
    #[serde(flatten)]
    level: FigureLevel,
    /// The figure of each run.
    runs: &'a [Option<f64>],
}

fn by_name<S: Serializer>(figures: &FigureSet, serializer: S) -> Result<S::Ok, S::Error> {
    let stored = |across: &'_ AcrossRuns| FigureLevel { at_least: across.mean_at_least, ..across.level() };
    serializer.collect_map(
        figures.iter().map(|(key, across)| (key.field(), RowFigure { level: stored(across), runs: &across.values })),
    )
}

#[cfg(test)]
fn claim_words(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let [confirmed, refuted, inconclusive] = super::tested::CLAIM_WORDS;
    schemars::json_schema!({ "enum": [confirmed, refuted, inconclusive, null] })
}

#[cfg(test)]
fn by_name_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let figure = generator.subschema_for::<RowFigure<'_>>();
    schemars::json_schema!({
        "description": "The figures that a table of experiments follows, by name; what no run has is not there.",
        "type": "object",
        "properties": crate::analysis::schema(selections::of_rows(), &figure),
    })
}

/// A cell before it is compared with others.
#[derive(Clone, Copy)]
pub(super) struct CellContext<'a> {
    pub(super) experiments: &'a Experiments,
    pub(super) cell: &'a CellRuns,
}

impl<'a> CellContext<'a> {
    /// The row.
    pub(super) fn row(self) -> &'a MatrixRow {
        &self.experiments.rows[self.cell.slot.row]
    }

    /// The runs that count.
    fn summaries(self) -> Vec<&'a Summary> {
        let runs: Vec<_> = self.cell.runs.iter().map(|run| &run.summary).collect();
        spoiled::counting(&runs, self.row().repeats(), |run| spoiled_by(run).is_some())
    }

    /// Whether the figures can be trusted; `None` where there are none.
    fn verdict(self) -> Option<Verdict> {
        Some(match self.summaries().as_slice() {
            [] => return None,
            // Of a row that plans one run, spare ones that are spoiled too say no more than it.
            [run, ..] if run.run.repeat.is_none() => run.verdict.clone(),
            runs => {
                let summaries: Vec<_> = runs.iter().copied().cloned().collect();
                match Repeats::new(&summaries, &[]) {
                    Ok(repeats) => repeats.verdict,
                    Err(error) => {
                        let (rule, sentence) = (Rule::Conservation, error.to_string());
                        let outcome = VerdictOutcome::Invalid;
                        let reason = Reason { rule, outcome, runs: None, sentence, cure: String::new() };
                        Verdict::new(vec![reason], Vec::new())
                    }
                }
            }
        })
    }

    /// Its runs, if they can be trusted.
    pub(super) fn believed(self, invalid: InvalidRuns) -> TrustedRuns<'a> {
        let name = &self.row().name;
        let (completed, of) = (self.cell.runs.len() as u64, self.row().repeats());
        let is_invalid = || format!("row {name} is INVALID");
        match self.verdict() {
            None if self.cell.failed.is_some() => Err(format!("row {name} could not be run")),
            None => Err(format!("row {name} did not run")),
            // Stopping at will would bias the result.
            Some(_) if completed < of => Err(format!("of row {name} {completed} of {of} runs completed")),
            Some(Verdict { outcome: VerdictOutcome::Invalid, .. }) => match invalid {
                InvalidRuns::LeftOut => Err(is_invalid()),
                InvalidRuns::Counted => Ok((self.summaries(), Some(is_invalid()))),
            },
            Some(_) => Ok((self.summaries(), self.experiments.rehearsal.then(|| "a rehearsal".to_owned()))),
        }
    }

    /// The complete result.
    pub(super) fn judged(self, tests: Vec<Tested>, invalid: InvalidRuns) -> MatrixCell {
        let Self { experiments, cell } = self;
        let (row, variant) = (self.row(), &experiments.variants[cell.slot.variant]);
        let summaries = self.summaries();
        let verdict = self.verdict();
        let outcome = verdict.as_ref().map(|verdict| verdict.outcome);
        let valid = outcome.map(|outcome| outcome != VerdictOutcome::Invalid);
        let found = verdict.map(|verdict| verdict.reasons).unwrap_or_default();
        let of_server = |reason: &Reason| SERVER_RULES.contains(&reason.rule);
        let saturated = !found.is_empty() && found.iter().all(of_server);
        let reasons: Vec<_> = found.iter().map(Reason::in_words).collect();
        let figures = FigureSet::new(selections::of_rows(), &summaries);
        let cost = cost(variant, &figures);
        let trusted = valid == Some(true) || (valid.is_some() && invalid == InvalidRuns::Counted);
        let whole = cell.runs.len() as u64 >= row.repeats();
        let lost = cell.runs.iter().filter_map(|run| Some((run.folder.clone(), spoiled_by(&run.summary)?)));
        let is_replaced =
            |run: &RowRun| !summaries.iter().any(|kept| std::ptr::eq(*kept, std::ptr::from_ref(&run.summary)));
        let contract = experiments
            .accept
            .as_ref()
            .filter(|accept| accept.counts(&row.name) && (trusted || saturated) && whole)
            .map(|accept| {
                let overload = reasons.first().filter(|_| saturated);
                ContractResult::new(accept, &summaries, (cost, experiments.currency.as_deref()), overload)
            });
        MatrixCell {
            row: row.name.clone(),
            variant: variant.name.clone(),
            question: row.question.clone(),
            hypothesis: row.hypothesis.clone(),
            variables: row.settings.variables().into_iter().map(|(of, value)| (of.name(), value)).collect(),
            changed: row.settings.differences(&experiments.rows[0].settings),
            planned_runs: row.repeats(),
            runs: cell.runs.iter().map(|run| CellRun::new(run, is_replaced(run))).collect(),
            spoiled: spoiled::in_words("run", cell.runs.len() as u64, row.repeats(), lost),
            outcome,
            valid,
            saturated,
            reasons,
            failed: cell.failed.as_ref().map(|failure| failure.why.clone()),
            failed_by: cell.failed.as_ref().map(|failure| failure.by),
            figures,
            cost_per_million_output_tokens: cost.map(|cost| cost.value),
            per_gpu_trade: None,
            standing: Status::worst(tests.iter().map(|test| test.standing)),
            tests,
            contract,
        }
    }
}

impl MatrixCell {
    /// Whether it is INVALID for other reasons than the server's own fault.
    pub(super) fn is_spoiled(&self) -> bool {
        self.valid == Some(false) && !self.saturated
    }
}

impl CellRun {
    fn new(run: &RowRun, replaced: bool) -> Self {
        let of = &run.summary.run;
        Self {
            folder: run.folder.clone(),
            seed: of.seed,
            plan_hash: of.plan_hash.clone(),
            started_at: of.started_at,
            outcome: run.summary.verdict.outcome,
            valid: run.summary.verdict.valid,
            replaced,
        }
    }
}
