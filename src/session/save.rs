//! Writes results beside the logs that they are computed from.

use std::path::Path;

use crate::analysis::Objective;
use crate::record::RunHeader;
use crate::report::{self, RunReport, documents, render};
use crate::session::console::{Printer, Stop};
use crate::session::whole_file::whole_file;

/// File of the summary in a run's folder.
pub(super) const SUMMARY: &str = "summary.json";
/// File of the page in the folder of a run or an experiment.
pub(crate) const PAGE: &str = "report.html";

/// Writes the summary and the page of a run beside its log.
pub(crate) fn run(report: RunReport<'_>, folder: &Path) -> Result<(), Stop> {
    let RunReport { log, summary, diagnosis } = report;
    text(&folder.join(SUMMARY), &report::json_with(summary, diagnosis).map_err(Stop::impossible)?)?;
    let page = render::html(&documents::run(summary, diagnosis, Some(log)));
    text(&folder.join(PAGE), &page)
}

/// Writes the log, the summary and the page of a run.
pub(crate) fn run_with_log(report: RunReport<'_>, folder: &Path) -> Result<(), Stop> {
    report.log.store(folder).map_err(Stop::impossible)?;
    run(report, folder)
}

/// Writes a text to a file, whole or not at all. It has a line break at its end.
pub(crate) fn text(path: &Path, text: &str) -> Result<(), Stop> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    whole_file(path, |out| write!(out, "{text}{end}"))
        .map_err(|error| Stop::impossible(format!("cannot write {}: {error}", path.display())))
}

/// Says where a result is stored with its report, such as `report: report.html`. It says how to show all of it
/// again, if that is any use.
pub(crate) fn say_saved(folder: &Path, look: Option<&str>, is_reported: bool, printer: Printer) {
    let (folder, look) = (folder.display(), look.map(|look| format!(" ({look})")).unwrap_or_default());
    printer.words(&format!("saved to {folder}{look}"));
    if is_reported {
        printer.words(&format!("all of it: skyline report {folder} --full"));
    }
}

/// The objectives that a run was started with.
pub(crate) fn objectives_of(header: &RunHeader) -> Result<Vec<Objective>, Stop> {
    header.objectives.iter().map(|objective| objective.parse()).collect::<Result<_, _>>().map_err(Stop::usage)
}
