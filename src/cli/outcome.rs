//! What a summary becomes: bytes for a reader, a file, an exit code.

use console::Term;
use serde::Serialize;

use crate::analysis::{Judgement, Summary};
use crate::experiment::capacity::CapacityPlan;
use crate::experiment::compare::ComparedForeign;
use crate::experiment::{AbTest, AcrossJudgement, EngineFit, PredictedRates, Prediction, Repeats, Sweep};
use crate::foreign::ForeignRun;
use crate::record::{Calibration, HostFacts};
use crate::report::render::{self, Extent};
use crate::report::{self, Beside, Colour, Document, Style, documents};
use crate::session::{Exit, Stop, wants_colour};

pub(super) use crate::report::Format;

/// What an INVALID run does to the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    /// It decides it.
    Refused,
    /// Nothing: the exit code is what it would be for a valid run, and the report says INVALID all the same.
    Allowed,
}

/// A report is not made for fewer columns.
const NARROWEST: usize = 80;
/// Nor does it read better over more.
const WIDEST: usize = 120;

/// The summary in the form asked for, with what goes beside it.
pub(super) fn render(summary: &Summary, beside: Beside<'_>, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(text(&documents::run(summary, beside, None))),
        Format::Json => report::json_beside(summary, beside).map_err(Stop::impossible),
    }
}

/// A result in the form asked for.
pub(super) fn show(document: &Document, result: &impl Serialize, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(text(document)),
        Format::Json => report::json(result).map_err(Stop::impossible),
    }
}

/// A result as text for where data goes.
pub(super) fn text(document: &Document) -> String {
    render::text(document, style(), Extent::Full)
}

/// The prediction in the form asked for.
pub(super) fn render_prediction(prediction: &Prediction, format: Format) -> Result<String, Stop> {
    show(&documents::prediction(prediction), prediction, format)
}

/// A fitted engine, for a person.
pub(super) fn render_fit(fit: &EngineFit) -> String {
    text(&documents::engine_fit(fit))
}

/// What was predicted from a fitted engine as JSON, with how well it fits.
pub(super) fn render_fitted(told: &impl Serialize, fit: &EngineFit) -> Result<String, Stop> {
    report::fitted_json(told, fit).map_err(Stop::impossible)
}

/// What a fitted engine predicts of several rates, in the form asked for.
pub(super) fn render_rates(predicted: &PredictedRates, format: Format) -> Result<String, Stop> {
    show(&documents::predicted_rates(predicted), predicted, format)
}

/// Several runs in the form asked for.
pub(super) fn render_repeats(repeats: &Repeats, format: Format) -> Result<String, Stop> {
    show(&documents::repeats(repeats), repeats, format)
}

/// An A/B experiment in the form asked for.
pub(super) fn render_ab(test: &AbTest, format: Format) -> Result<String, Stop> {
    show(&documents::ab(test), test, format)
}

/// A sweep in the form asked for.
pub(super) fn render_sweep(sweep: &Sweep, format: Format) -> Result<String, Stop> {
    show(&documents::sweep(sweep), sweep, format)
}

/// What a rate takes and costs, in the form asked for.
pub(super) fn render_capacity(
    capacity: &CapacityPlan,
    sweeps: &[Sweep],
    format: Format,
) -> Result<String, Stop> {
    show(&documents::capacity(capacity, sweeps), capacity, format)
}

/// Runs of another tool, in the form asked for.
pub(super) fn render_foreign(runs: &[ForeignRun], format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(text(&documents::foreign(runs))),
        Format::Json => report::foreign_json(runs).map_err(Stop::impossible),
    }
}

/// A comparison with runs of other tools, in the form asked for.
pub(super) fn render_compared_foreign(compared: &ComparedForeign, format: Format) -> Result<String, Stop> {
    show(&documents::compared_foreign(compared), compared, format)
}

/// What a calibration found, in the form asked for.
pub(super) fn render_calibration(
    found: &Calibration,
    host: &HostFacts,
    format: Format,
) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(text(&documents::calibration(found, host))),
        Format::Json => documents::calibration_json(found, host).map_err(Stop::impossible),
    }
}

/// How text is written to where data goes.
pub(super) fn style() -> Style {
    let colour = if wants_colour() { Colour::Ansi } else { Colour::Plain };
    Style { colour, width: width() }
}

/// Columns of the terminal that data goes to, or as many as a file gets.
fn width() -> usize {
    let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.map_or(Style::PLAIN.width, |columns| columns.clamp(NARROWEST, WIDEST))
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
