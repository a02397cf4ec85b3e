//! What a summary becomes: bytes for a reader, a file, an exit code.

use console::Term;
use serde::Serialize;

use crate::analysis::{Judgement, Summary};
use crate::experiment::capacity::CapacityPlan;
use crate::experiment::compare::{Compared, ComparedForeign, ComparedSweeps};
use crate::experiment::{AbTest, AcrossJudgement, EngineFit, PredictedRates, Prediction, Repeats, Sweep};
use crate::foreign::ForeignRun;
use crate::record::{Calibration, HostFacts};
use crate::report::{self, Beside, Colour, Extent, Style};
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
        Format::Text => Ok(report::run_text(summary, beside, style(), Extent::Full)),
        Format::Json => report::json_beside(summary, beside).map_err(Stop::impossible),
    }
}

/// The prediction in the form asked for.
pub(super) fn render_prediction(prediction: &Prediction, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::prediction_text(prediction, style())),
        Format::Json => report::prediction_json(prediction).map_err(Stop::impossible),
    }
}

/// A fitted engine, for a person.
pub(super) fn render_fit(fit: &EngineFit) -> String {
    report::engine_fit_text(fit, style())
}

/// What was predicted from a fitted engine as JSON, with how well it fits.
pub(super) fn render_fitted(told: &impl Serialize, fit: &EngineFit) -> Result<String, Stop> {
    report::fitted_json(told, fit).map_err(Stop::impossible)
}

/// What a fitted engine predicts of several rates, in the form asked for.
pub(super) fn render_rates(predicted: &PredictedRates, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::rates_text(predicted, style())),
        Format::Json => report::rates_json(predicted).map_err(Stop::impossible),
    }
}

/// Several runs in the form asked for.
pub(super) fn render_repeats(repeats: &Repeats, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::repeats_text(repeats, style(), Extent::Full)),
        Format::Json => report::repeats_json(repeats).map_err(Stop::impossible),
    }
}

/// An A/B experiment in the form asked for.
pub(super) fn render_ab(test: &AbTest, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::ab_text(test, style())),
        Format::Json => report::ab_json(test).map_err(Stop::impossible),
    }
}

/// A sweep in the form asked for.
pub(super) fn render_sweep(sweep: &Sweep, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::sweep_text(sweep, style())),
        Format::Json => report::sweep_json(sweep).map_err(Stop::impossible),
    }
}

/// A comparison in the form asked for.
pub(super) fn render_compared(compared: &Compared, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::compared_text(compared, style())),
        Format::Json => report::compared_json(compared).map_err(Stop::impossible),
    }
}

/// A comparison of sweeps in the form asked for.
pub(super) fn render_compared_sweeps(compared: &ComparedSweeps, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::compared_sweeps_text(compared, style())),
        Format::Json => report::compared_sweeps_json(compared).map_err(Stop::impossible),
    }
}

/// What a rate takes and costs, in the form asked for.
pub(super) fn render_capacity(capacity: &CapacityPlan, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::capacity_text(capacity, style())),
        Format::Json => report::capacity_json(capacity).map_err(Stop::impossible),
    }
}

/// Runs of another tool, in the form asked for.
pub(super) fn render_foreign(runs: &[ForeignRun], format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::foreign_text(runs, style())),
        Format::Json => report::foreign_json(runs).map_err(Stop::impossible),
    }
}

/// A comparison with runs of other tools, in the form asked for.
pub(super) fn render_compared_foreign(compared: &ComparedForeign, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::compared_foreign_text(compared, style())),
        Format::Json => report::compared_foreign_json(compared).map_err(Stop::impossible),
    }
}

/// What a calibration found, in the form asked for.
pub(super) fn render_calibration(
    found: &Calibration,
    host: &HostFacts,
    format: Format,
) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::calibration_text(found, host, style(), Extent::Full)),
        Format::Json => report::calibration_json(found, host).map_err(Stop::impossible),
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
