//! What a summary becomes: bytes for a reader, a file, an exit code.

use std::path::Path;

use super::exit::{Exit, Stop};
use super::printer::wants_colour;
use crate::analysis::Summary;
use crate::report::{self, Colour, Style};

/// The form in which a summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Name of the summary inside a run's folder.
const FILE_NAME: &str = "summary.json";

/// The summary in the form asked for.
pub(super) fn render(summary: &Summary, format: Format) -> Result<String, Stop> {
    match format {
        Format::Text => {
            let colour = if wants_colour() { Colour::Ansi } else { Colour::Plain };
            Ok(report::text(summary, Style { colour, ..Style::PLAIN }))
        }
        Format::Json => report::json(summary).map_err(Stop::impossible),
    }
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
pub(super) fn exit(summary: &Summary) -> Exit {
    if !summary.verdict.valid {
        Exit::Invalid
    } else if summary.objectives.iter().any(|judgement| !judgement.passed()) {
        Exit::Missed
    } else {
        Exit::Fine
    }
}
