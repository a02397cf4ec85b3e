//! A run in every medium.

mod costs;
mod markdown;
mod page;
mod parts;
mod summary;
mod text;

use crate::analysis::Summary;
use crate::experiment::Diagnosis;
use crate::record::RunLog;
use crate::report::documents::run::document;
use crate::report::{Extent, RunReport, Style, render};

fn run_text(summary: &Summary, diagnosis: Option<&Diagnosis>, style: Style, extent: Extent) -> String {
    render::text(&document(summary, diagnosis, None), style, extent)
}

fn run_page(log: &RunLog, summary: &Summary, diagnosis: Option<&Diagnosis>) -> String {
    render::html(&document(summary, diagnosis, Some(log)))
}

fn run_markdown(report: RunReport<'_>) -> String {
    render::markdown(&document(report.summary, report.diagnosis, Some(report.log)))
}
