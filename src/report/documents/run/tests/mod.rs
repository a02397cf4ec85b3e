//! A run in every medium.

mod costs;
mod markdown;
mod page;
mod parts;
mod summary;
mod text;

use crate::analysis::Summary;
use crate::record::RunLog;
use crate::report::documents::run::document;
use crate::report::{Extent, Extras, RunReport, Style, render};

fn run_text(summary: &Summary, extras: Extras<'_>, style: Style, extent: Extent) -> String {
    render::text(&document(summary, extras, None), style, extent)
}

fn run_page(log: &RunLog, summary: &Summary, extras: Extras<'_>) -> String {
    render::html(&document(summary, extras, Some(log)))
}

fn run_markdown(report: RunReport<'_>) -> String {
    render::markdown(&document(report.summary, report.extras, Some(report.log)))
}
