//! What a result becomes: bytes for a reader, and an exit code.

use serde::Serialize;

use super::show::rendered;
use crate::analysis::{Judgement, Summary};
use crate::experiment::capacity::CapacityPlan;
use crate::experiment::{AbTest, AcrossJudgement, EngineFit, PredictedRates, Prediction, Repeats, Sweep};
use crate::foreign::ForeignRun;
use crate::record::{Calibration, HostFacts};
use crate::report::{self, Document, Extent, RunReport, documents};
use crate::session::{Exit, Stop};

pub(super) use crate::report::Format;

/// What an INVALID run does to the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    /// It decides it.
    Refused,
    /// Nothing: the exit code is what it would be for a valid run, and the report says INVALID all the same.
    Allowed,
}

/// A run in the form asked for; only a page has its charts.
pub(super) fn render(report: RunReport<'_>, format: Format) -> Result<String, Stop> {
    let RunReport { log, summary, extras } = report;
    let log = (format == Format::Html).then_some(log);
    rendered(format, || documents::run(summary, extras, log), || report::json_with(summary, extras))
}

/// A result in the form asked for.
pub(super) fn show(
    document: impl FnOnce() -> Document,
    result: &impl Serialize,
    format: Format,
) -> Result<String, Stop> {
    rendered(format, document, || report::json(result))
}

/// The prediction in the form asked for.
pub(super) fn render_prediction(prediction: &Prediction, format: Format) -> Result<String, Stop> {
    show(|| documents::prediction(prediction), prediction, format)
}

/// A fitted engine as text.
pub(super) fn render_fit(fit: &EngineFit) -> Result<String, Stop> {
    show(|| documents::engine_fit(fit), fit, Format::Text(Extent::Full))
}

/// What was predicted from a fitted engine as JSON, with how well it fits.
pub(super) fn render_fitted(predicted: &impl Serialize, fit: &EngineFit) -> Result<String, Stop> {
    report::fitted_json(predicted, fit).map_err(Stop::impossible)
}

/// What a fitted engine predicts of several rates, in the form asked for.
pub(super) fn render_rates(predicted: &PredictedRates, format: Format) -> Result<String, Stop> {
    show(|| documents::predicted_rates(predicted), predicted, format)
}

/// Several runs in the form asked for.
pub(super) fn render_repeats(repeats: &Repeats, format: Format) -> Result<String, Stop> {
    show(|| documents::repeats(repeats), repeats, format)
}

/// An A/B experiment in the form asked for.
pub(super) fn render_ab(test: &AbTest, format: Format) -> Result<String, Stop> {
    show(|| documents::ab(test), test, format)
}

/// A sweep in the form asked for.
pub(super) fn render_sweep(sweep: &Sweep, format: Format) -> Result<String, Stop> {
    show(|| documents::sweep(sweep), sweep, format)
}

/// What a rate takes and costs, in the form asked for.
pub(super) fn render_capacity(
    capacity: &CapacityPlan,
    sweeps: &[Sweep],
    format: Format,
) -> Result<String, Stop> {
    show(|| documents::capacity(capacity, sweeps), capacity, format)
}

/// Runs of another tool, in the form asked for.
pub(super) fn render_foreign(runs: &[ForeignRun], format: Format) -> Result<String, Stop> {
    rendered(format, || documents::foreign(runs), || report::foreign_json(runs))
}

/// What a calibration found, in the form asked for.
pub(super) fn render_calibration(
    found: &Calibration,
    host: &HostFacts,
    format: Format,
) -> Result<String, Stop> {
    rendered(format, || documents::calibration(found, host), || documents::calibration_json(found, host))
}

/// What the summary says to a script: 3 before 1, since a missed objective of a run that deserves no belief says
/// nothing.
pub(super) fn exit(summary: &Summary, invalid: Invalid) -> Exit {
    exit_of(summary.verdict.valid, invalid, summary.objectives.iter().all(Judgement::passed))
}

/// The same of several runs.
pub(super) fn exit_of_repeats(repeats: &Repeats, invalid: Invalid) -> Exit {
    exit_of(repeats.verdict.valid, invalid, repeats.objectives.iter().all(AcrossJudgement::passed))
}

fn exit_of(valid: bool, invalid: Invalid, met: bool) -> Exit {
    if !valid && invalid == Invalid::Refused {
        Exit::Invalid
    } else if met {
        Exit::Fine
    } else {
        Exit::Missed
    }
}
