//! Writes results beside the logs that they are computed from.

use std::path::Path;

use serde::Serialize;

use crate::analysis::Objective;
use crate::experiment::{AbTest, Repeats, Sweep};
use crate::record::RunHeader;
use crate::report::render::{self, Extent};
use crate::report::{self, Document, RunReport, Style, documents};
use crate::session::console::Stop;
use crate::session::whole_file::whole_file;

/// File of the summary in a run's folder.
pub(super) const SUMMARY: &str = "summary.json";
/// File of the page in the folder of a run or an experiment.
pub(crate) const PAGE: &str = "report.html";
/// File of what an A/B test found, in its folder.
pub(super) const AB: &str = "ab.json";
/// File of what repeats say together, in the folder that holds their folders.
pub(super) const REPEATS: &str = "repeats.json";

/// Writes the summary and the page of a run beside its log.
pub(crate) fn run(report: RunReport<'_>, folder: &Path) -> Result<(), Stop> {
    let RunReport { log, summary, extras } = report;
    text(&folder.join(SUMMARY), &report::json_with(summary, extras).map_err(Stop::impossible)?)?;
    let page = render::html(&documents::run(summary, extras, Some(log)));
    text(&folder.join(PAGE), &page)
}

/// The same with the log itself.
pub(crate) fn run_with_log(report: RunReport<'_>, folder: &Path) -> Result<(), Stop> {
    report.log.store(folder).map_err(Stop::impossible)?;
    run(report, folder)
}

/// Writes what repeats say together.
pub(crate) fn repeats(repeats: &Repeats, folder: &Path) -> Result<(), Stop> {
    text(&folder.join(REPEATS), &report::json(repeats).map_err(Stop::impossible)?)
}

/// Writes a sweep and its page into the folder of its runs.
pub(crate) fn sweep(sweep: &Sweep, folder: &Path) -> Result<(), Stop> {
    text(&folder.join(PAGE), &render::html(&documents::sweep(sweep)))?;
    text(&folder.join(Sweep::FILE_NAME), &report::json(sweep).map_err(Stop::impossible)?)
}

/// Writes an A/B test and its page into the folder of its rounds.
pub(crate) fn ab(test: &AbTest, folder: &Path) -> Result<(), Stop> {
    text(&folder.join(PAGE), &render::html(&documents::ab(test)))?;
    text(&folder.join(AB), &report::json(test).map_err(Stop::impossible)?)
}

/// Writes a decision four times: for programs, for people, as its record, and as a page. The last two say how
/// to decide it `again`.
pub(crate) fn decision(
    folder: &Path,
    files: [&str; 4],
    decision: &impl Serialize,
    document: impl Fn(Option<&str>) -> Document,
    again: &str,
) -> Result<(), Stop> {
    let whole = document(Some(again));
    let texts = [
        report::json(decision).map_err(Stop::impossible)?,
        render::text(&document(None), Style::PLAIN, Extent::Full),
        render::markdown(&whole),
        render::html(&whole),
    ];
    files.into_iter().zip(texts).try_for_each(|(name, content)| text(&folder.join(name), &content))
}

/// Writes a text to a file, whole or not at all, with a line break at its end.
pub(crate) fn text(path: &Path, text: &str) -> Result<(), Stop> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    whole_file(path, |out| write!(out, "{text}{end}"))
        .map_err(|error| Stop::impossible(format!("cannot write {}: {error}", path.display())))
}

/// The objectives that a run was started with.
pub(crate) fn objectives_of(header: &RunHeader) -> Result<Vec<Objective>, Stop> {
    header.objectives.iter().map(|objective| objective.parse()).collect::<Result<_, _>>().map_err(Stop::usage)
}
