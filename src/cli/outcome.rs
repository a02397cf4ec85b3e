//! What a summary becomes: bytes for a reader, a file, an exit code.

use std::path::Path;

use console::Term;

use super::exit::{Exit, Stop};
use super::printer::wants_colour;
use crate::analysis::Summary;
use crate::experiment::Prediction;
use crate::report::{self, Colour, Style};

/// The form in which a summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

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

/// Name of the summary inside a run's folder.
const FILE_NAME: &str = "summary.json";

/// The summary in the form asked for.
pub(super) fn render(summary: &Summary, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::text(summary, style())),
        Format::Json => report::json(summary).map_err(Stop::impossible),
    }
}

/// The prediction in the form asked for.
pub(super) fn render_prediction(prediction: &Prediction, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => Ok(report::prediction_text(prediction, style())),
        Format::Json => report::prediction_json(prediction).map_err(Stop::impossible),
    }
}

fn style() -> Style {
    let colour = if wants_colour() { Colour::Ansi } else { Colour::Plain };
    Style { colour, width: width() }
}

/// Columns of the terminal that data goes to, or as many as a file gets.
fn width() -> usize {
    let columns = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    columns.map_or(Style::PLAIN.width, |columns| columns.clamp(NARROWEST, WIDEST))
}

/// Writes the summary beside the run's log.
pub(super) fn store(summary: &Summary, folder: &Path) -> Result<(), Stop> {
    let path = folder.join(FILE_NAME);
    let json = render(summary, Format::Json)?;
    std::fs::write(&path, json)
        .map_err(|error| Stop::impossible(format!("cannot write {}: {error}", path.display())))
}

/// What the summary says to a script: 3 before 1, since a missed objective of a run that deserves no belief says
/// nothing.
pub(super) fn exit(summary: &Summary, invalid: Invalid) -> Exit {
    if !summary.verdict.valid && invalid == Invalid::Refused {
        Exit::Invalid
    } else if summary.objectives.iter().any(|judgement| !judgement.passed()) {
        Exit::Missed
    } else {
        Exit::Fine
    }
}
